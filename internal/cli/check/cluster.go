package check

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/internal/cli/namespace"
	"github.com/dynawire/dynawire/internal/drift/lack"
	"github.com/dynawire/dynawire/internal/workload"
	"github.com/dynawire/dynawire/pkg/pod"
	"github.com/dynawire/dynawire/pkg/wiring"
)

// pageSize keeps a page at a few megabytes.
const pageSize = 250

// resource is a collection that is looked through.
type resource struct {
	apiVersion, plural, kind string
	// fields leaves out what is of no interest.
	fields string
	// optional is there only with its CRD.
	optional bool
}

var resources = []resource{
	{apiVersion: "apps/v1", plural: "deployments", kind: "Deployment"},
	{apiVersion: "apps/v1", plural: "statefulsets", kind: "StatefulSet"},
	{apiVersion: "apps/v1", plural: "daemonsets", kind: "DaemonSet"},
	{apiVersion: "apps/v1", plural: "replicasets", kind: "ReplicaSet"},
	{apiVersion: "v1", plural: "replicationcontrollers", kind: "ReplicationController"},
	{apiVersion: "batch/v1", plural: "cronjobs", kind: "CronJob"},
	{apiVersion: "batch/v1", plural: "jobs", kind: "Job"},
	{apiVersion: "leaderworkerset.x-k8s.io/v1", plural: "leaderworkersets", kind: "LeaderWorkerSet", optional: true},
	{apiVersion: "jobset.x-k8s.io/v1alpha2", plural: "jobsets", kind: "JobSet", optional: true},
	{apiVersion: "v1", plural: "pods", kind: "Pod", fields: "status.phase!=Succeeded,status.phase!=Failed"},
	{apiVersion: "v1", plural: "services", kind: "Service"},
}

// Cluster looks through a live cluster. It only reads.
type Cluster struct {
	client rest.Interface
	// Progress is told the namespace that is being read, and how many objects were.
	Progress func(namespace string, objects int)
}

// NewCluster makes a Cluster of a configuration.
func NewCluster(config *rest.Config) (*Cluster, error) {
	c := rest.CopyConfig(config)
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	c.QPS, c.Burst = 25, 50
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &Cluster{client: client, Progress: func(string, int) {}}, nil
}

// Namespace judges the objects of one namespace. warnings are about the Namespace.
func (c *Cluster) Namespace(ctx context.Context, name string) (found []Object, warnings []string, err error) {
	raw, err := answer(c.client.Get().AbsPath("/api/v1/namespaces/" + name).Do(ctx))
	if err != nil {
		return nil, nil, explained(err, "get", "namespaces", "")
	}
	var ns object
	if err := json.Unmarshal(raw, &ns, pod.Options); err != nil {
		return nil, nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	if ns.Metadata.Labels[wiring.LabelDiscoveryEnabled] != "true" {
		return nil, []string{fmt.Sprintf("namespace %s has no label %s=true: dynawire leaves it alone, and nothing in it is judged", name, wiring.LabelDiscoveryEnabled)}, nil
	}
	return c.optedIn(ctx, nil, &ns)
}

// All judges the objects of every namespace that is opted in.
func (c *Cluster) All(ctx context.Context) (found []Object, warnings []string, err error) {
	var namespaces []object
	err = c.list(ctx, "/api/v1/namespaces", map[string]string{"labelSelector": wiring.LabelDiscoveryEnabled + "=true"}, func(raw jsontext.Value) error {
		var ns object
		err := json.Unmarshal(raw, &ns, pod.Options)
		namespaces = append(namespaces, ns)
		return err
	})
	if err != nil {
		return nil, nil, explained(err, "list", "namespaces", "")
	}
	if len(namespaces) == 0 {
		return nil, []string{fmt.Sprintf("no namespace has the label %s=true: there is nothing to judge", wiring.LabelDiscoveryEnabled)}, nil
	}
	for i := range namespaces {
		var more []string
		if found, more, err = c.optedIn(ctx, found, &namespaces[i]); err != nil {
			return nil, nil, err
		}
		warnings = append(warnings, more...)
	}
	return found, warnings, nil
}

// object is what every object has.
type object struct {
	Metadata pod.Metadata `json:"metadata"`
}

// optedIn adds the objects of a namespace to those found before.
func (c *Cluster) optedIn(ctx context.Context, found []Object, ns *object) ([]Object, []string, error) {
	name := ns.Metadata.Name
	settings := namespace.Read(ns.Metadata.Annotations)
	for _, r := range resources {
		c.Progress(name, len(found))
		params := map[string]string{}
		if r.fields != "" {
			params["fieldSelector"] = r.fields
		}
		before := len(found)
		read := func() error {
			found = found[:before]
			return c.list(ctx, r.path(name), params, func(raw jsontext.Value) error {
				o, ok, err := r.judge(raw, settings)
				if ok {
					found = append(found, o)
				}
				return err
			})
		}
		err := read()
		if apierrors.IsResourceExpired(err) {
			err = read() // it took too long to get on from page to page
		}
		switch {
		case err == nil, r.optional && apierrors.IsNotFound(err):
		default:
			return nil, nil, explained(err, "list", r.plural, name)
		}
	}
	var warnings []string
	for _, warning := range settings.Warnings {
		warnings = append(warnings, "namespace "+name+": "+warning)
	}
	return found, warnings, nil
}

func (r *resource) path(namespace string) string {
	root := "/apis/"
	if !strings.Contains(r.apiVersion, "/") {
		root = "/api/"
	}
	return root + r.apiVersion + "/namespaces/" + namespace + "/" + r.plural
}

// list calls yield with each object of a collection, page by page.
func (c *Cluster) list(ctx context.Context, path string, params map[string]string, yield func(jsontext.Value) error) error {
	next := ""
	for {
		request := c.client.Get().AbsPath(path).SetHeader("Accept", "application/json").Param("limit", strconv.Itoa(pageSize))
		for key, value := range params {
			request.Param(key, value)
		}
		if next != "" {
			request.Param("continue", next)
		}
		raw, err := answer(request.Do(ctx))
		if err != nil {
			return err
		}
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []jsontext.Value `json:"items"`
		}
		if err := json.Unmarshal(raw, &page, pod.Options); err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := yield(item); err != nil {
				return err
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return nil
		}
	}
}

// answer is what the API server sent, or its own error.
func answer(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

// judge judges an object as it is in the cluster; not ok where somebody else answers for it, or it is on its way out.
func (r *resource) judge(raw jsontext.Value, ns namespace.Namespace) (judged Object, ok bool, err error) {
	var o object
	if err := json.Unmarshal(raw, &o, pod.Options); err != nil {
		return judged, false, fmt.Errorf("read a %s: %w", r.kind, err)
	}
	m := &o.Metadata
	if m.DeletionTimestamp != "" || r.kind != "Pod" && controlled(m) {
		return judged, false, nil
	}
	s := &subject{kind: r.kind, name: m.Name, namespace: m.Namespace}
	for _, t := range workload.JSON.Find(r.apiVersion, r.kind, raw) {
		p, err := pod.Decode(t.Node)
		if err != nil {
			return judged, false, fmt.Errorf("read %s/%s: %s: %w", r.kind, m.Name, t.Prefix, err)
		}
		if t.Prefix != "" {
			p.Metadata.Name, p.Metadata.Namespace = "", m.Namespace
		}
		s.templates = append(s.templates, template{t.Prefix, p})
	}
	if isService(r.apiVersion, r.kind) {
		if s.service, err = decode(raw); err != nil {
			return judged, false, fmt.Errorf("read Service/%s: %w", m.Name, err)
		}
	}
	judged = judge(s, ns)
	if r.kind == "Pod" {
		judged.wired(s.templates[0].Pod, ns)
	}
	return judged, true, nil
}

// controlled is whether a workload belongs to another one, which is judged itself.
func controlled(m *pod.Metadata) bool {
	for _, owner := range m.OwnerReferences {
		if owner.Controller {
			return true
		}
	}
	return false
}

// wired adds a finding to a pod that never went through the webhook. What an older release gave it is the scan's to tell.
func (o *Object) wired(p *pod.Pod, ns namespace.Namespace) {
	lacks, _ := lack.Check(p, ns.Settings)
	for _, f := range lacks {
		if f.Rule == lack.Unwired {
			o.Findings = append([]Finding{{Rule: f.Rule, Severity: f.Severity, Outcome: Refused, Field: f.Field, Message: f.Message}}, o.Findings...)
		}
	}
}

// explained adds what to do about an error that is the cluster's.
func explained(err error, verb, plural, namespace string) error {
	what := verb + " " + plural
	if namespace != "" {
		what += " of namespace " + namespace
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%s: %w; ask for a Role that allows get and list on namespaces, pods, services and workloads", what, err)
	}
	if apierrors.IsNotFound(err) && plural == "namespaces" {
		return fmt.Errorf("%w: is this the right context (--context)?", err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
