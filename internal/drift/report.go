package drift

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/internal/report/store"
	"github.com/dynawire/dynawire/pkg/pod"
)

// ReportStore is where Reports are: see store.Client.
type ReportStore interface {
	Get(ctx context.Context, namespace, name string) (*report.Report, error)
	// Namespaces are those that have a Report of that name.
	Namespaces(ctx context.Context, name string) ([]string, error)
	Create(ctx context.Context, r *report.Report) (int, error)
	Update(ctx context.Context, r *report.Report) (int, error)
}

// OwnerGetter finds the workload that a person wrote: see audit.Owners.
type OwnerGetter interface {
	Owner(ctx context.Context, near corev1.ObjectReference) corev1.ObjectReference
}

// Record is the Reports of a cluster: the Report dynawire-drift of each namespace that has, or had, something to say. The
// pods of a workload that are at fault alike are one result, which counts them.
type Record struct {
	Store  ReportStore
	Owners OwnerGetter
}

// Replace implements Reports. Without the kind Report there is nothing to write to: the gauge has it all the same.
func (r Record) Replace(ctx context.Context, namespace string, at time.Time, findings []Finding) error {
	entries := r.entries(ctx, at, findings)
	for attempt := 0; ; attempt++ {
		err := r.write(ctx, namespace, at, entries)
		switch {
		case errors.Is(err, store.ErrNotInstalled), errors.Is(err, store.ErrNamespaceGone):
			return nil
		case (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) && attempt < 3:
			continue // somebody else wrote meanwhile
		}
		return err
	}
}

// Namespaces implements Reports.
func (r Record) Namespaces(ctx context.Context) ([]string, error) {
	namespaces, err := r.Store.Namespaces(ctx, report.Drift)
	switch {
	case errors.Is(err, store.ErrNotInstalled):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find the reports %s: %w", report.Drift, err)
	}
	return namespaces, nil
}

func (r Record) write(ctx context.Context, namespace string, at time.Time, entries []report.Entry) error {
	current, err := r.Store.Get(ctx, namespace, report.Drift)
	missing := apierrors.IsNotFound(err) && !errors.Is(err, store.ErrNotInstalled)
	switch {
	case missing && len(entries) == 0:
		return nil
	case missing:
		current = report.New(namespace, report.Drift)
	case err != nil:
		return fmt.Errorf("read report %s: %w", report.Drift, err)
	case len(entries) == 0 && len(current.Results) == 0:
		return nil
	}
	if err := report.Replace(current, entries, report.Room(0), at); err != nil {
		return err
	}
	if missing {
		_, err = r.Store.Create(ctx, current)
	} else {
		_, err = r.Store.Update(ctx, current)
	}
	if err != nil {
		return fmt.Errorf("write report %s: %w", report.Drift, err)
	}
	return nil
}

// entries are the findings by workload.
func (r Record) entries(ctx context.Context, at time.Time, findings []Finding) []report.Entry {
	type fault struct {
		owner                types.UID
		rule, field, message string
	}
	index := map[fault]int{}
	var out []report.Entry
	for _, f := range findings {
		owner := workloadOf(ctx, r.Owners, f.Pod)
		key := fault{owner.UID, f.Rule, f.Field, f.Message}
		if i, ok := index[key]; ok {
			out[i].Count++
			continue
		}
		index[key] = len(out)
		out = append(out, report.Entry{
			Object: owner, Rule: f.Rule, Field: f.Field, Message: f.Message, Severity: f.Severity, Outcome: report.Running,
			Count: 1, First: at, Last: at, Example: "Pod/" + f.Pod.Metadata.Name,
		})
	}
	return out
}

// workloadOf is the workload of a pod that a person wrote, or the pod itself where it has none.
func workloadOf(ctx context.Context, owners OwnerGetter, p *pod.Pod) corev1.ObjectReference {
	if c := controllerOf(p); c.UID != "" {
		return owners.Owner(ctx, corev1.ObjectReference{
			APIVersion: c.APIVersion, Kind: c.Kind, Namespace: p.Metadata.Namespace, Name: c.Name, UID: types.UID(c.UID),
		})
	}
	return reference(p)
}

func reference(p *pod.Pod) corev1.ObjectReference {
	m := &p.Metadata
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: m.Namespace, Name: m.Name, UID: types.UID(m.UID)}
}
