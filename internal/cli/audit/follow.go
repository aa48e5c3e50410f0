package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openreports/reports-api/apis/openreports.io/v1alpha1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/dynawire/dynawire/internal/report"
)

// Store is where Reports are: store.Client.
type Store interface {
	List(ctx context.Context, namespace string) (*v1alpha1.ReportList, error)
	Watch(ctx context.Context, namespace, version string) (watch.Interface, error)
}

// retry is how long Follow waits after a watch that failed at once.
const retry = time.Second

// Follow gives yield what is found, and then what is found anew or again, until ctx ends.
func Follow(ctx context.Context, s Store, namespace string, f Filter, yield func([]Finding) error) error {
	seen := memory{}
	for {
		list, err := s.List(ctx, namespace)
		if err != nil {
			return ended(ctx, err)
		}
		if err := yield(seen.news(Findings(list.Items, f))); err != nil {
			return err
		}
		if err := follow(ctx, s, namespace, list.ResourceVersion, func(r *report.Report) error {
			return yield(seen.news(Findings([]report.Report{*r}, f)))
		}); err != nil {
			return ended(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
	}
}

// follow watches until the API server ends that, which it does every few minutes.
func follow(ctx context.Context, s Store, namespace, version string, changed func(*report.Report) error) error {
	w, err := s.Watch(ctx, namespace, version)
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		switch event.Type {
		case watch.Added, watch.Modified:
			r, ok := event.Object.(*report.Report)
			if !ok {
				return fmt.Errorf("the API server sent a %T, want a Report", event.Object)
			}
			if err := changed(r); err != nil {
				return err
			}
		case watch.Error:
			return nil // as a rule the version is too old: list again
		}
	}
	return nil
}

// ended is no error where ctx ended: the user has seen enough.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// memory is how often findings had been made when they were shown last.
type memory map[identity]int64

// identity is what makes findings the same.
type identity struct{ namespace, report, object, rule, outcome, field, message string }

// news are findings that were not shown, or were made again since.
func (m memory) news(findings []Finding) []Finding {
	var out []Finding
	for _, f := range findings {
		id := identity{f.Namespace, f.Report, f.Object, f.Rule, f.Outcome, f.Field, f.Message}
		if count, ok := m[id]; !ok || count != f.Count {
			m[id] = f.Count
			out = append(out, f)
		}
	}
	return out
}
