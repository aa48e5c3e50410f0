package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/dynawire/dynawire/api/v1alpha1"
)

// request is one API call, taken apart.
type request struct {
	verb, resource, namespace, name string
	gv                              schema.GroupVersion
	protobuf                        bool
}

func parseRequest(r *http.Request) (request, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var q request
	switch {
	case len(parts) >= 5 && parts[0] == "api":
		q.gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) >= 6 && parts[0] == "apis":
		q.gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return q, false
	}
	q.namespace, q.resource = parts[1], parts[2]
	if len(parts) > 3 {
		q.name = parts[3]
	}
	q.protobuf = strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf)
	switch {
	case r.Method == http.MethodGet && q.name != "":
		q.verb = "get"
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		q.verb = "watch"
	case r.Method == http.MethodGet:
		q.verb = "list"
	default:
		q.verb = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch"}[r.Method]
	}
	return q, q.verb != ""
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, ok := parseRequest(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	what := q.verb + " " + q.resource
	s.requests[what]++
	down, denied := s.down, s.denied[what]
	s.mu.Unlock()
	gr := schema.GroupResource{Group: q.gv.Group, Resource: q.resource}
	switch {
	case down:
		s.fail(w, q, apierrors.NewServiceUnavailable("the server is down"))
		return
	case denied:
		s.fail(w, q, apierrors.NewForbidden(gr, q.name,
			fmt.Errorf("user \"system:serviceaccount:%s:test\" cannot %s resource %q", q.namespace, q.verb, q.resource)))
		return
	}
	switch q.verb {
	case "get":
		obj := s.Get(q.resource, q.namespace, q.name)
		if obj == nil {
			s.fail(w, q, apierrors.NewNotFound(gr, q.name))
			return
		}
		s.write(w, q, http.StatusOK, obj)
	case "list":
		s.list(w, r, q)
	case "watch":
		s.watch(w, r, q)
	default:
		s.store(w, r, q, gr)
	}
}

// store does create, update and server-side apply, which here replaces the object.
func (s *Server) store(w http.ResponseWriter, r *http.Request, q request, gr schema.GroupResource) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.fail(w, q, apierrors.NewBadRequest(err.Error()))
		return
	}
	obj, _, err := s.codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		s.fail(w, q, apierrors.NewBadRequest(err.Error()))
		return
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		s.fail(w, q, apierrors.NewBadRequest(err.Error()))
		return
	}
	s.mu.Lock()
	old := s.objects[keyOf(q.resource, q.namespace, m.GetName())]
	version := ""
	if old != nil {
		om, _ := meta.Accessor(old)
		version = om.GetResourceVersion()
	}
	switch {
	case q.verb == "create" && old != nil:
		err = apierrors.NewAlreadyExists(gr, m.GetName())
	case q.verb == "update" && old == nil:
		err = apierrors.NewNotFound(gr, m.GetName())
	case q.verb == "update" && m.GetResourceVersion() != "" && m.GetResourceVersion() != version:
		err = apierrors.NewConflict(gr, m.GetName(), fmt.Errorf("the object has been modified"))
	case q.verb == "patch" && (r.URL.Query().Get("force") != "true" || r.URL.Query().Get("fieldManager") == ""):
		err = apierrors.NewBadRequest("want a forced apply with a field manager")
	}
	if err == nil {
		m.SetNamespace(q.namespace)
		obj = s.set(obj)
	}
	s.mu.Unlock()
	if err != nil {
		s.fail(w, q, err)
		return
	}
	s.write(w, q, http.StatusOK, obj)
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, q request) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		s.fail(w, q, apierrors.NewBadRequest(err.Error()))
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue")) // nobody may write between two pages
	s.mu.Lock()
	items := s.matching(q, selector)
	version := strconv.FormatUint(s.version, 10)
	s.mu.Unlock()
	list := newList(q.resource)
	m, err := meta.ListAccessor(list)
	if err != nil {
		s.fail(w, q, apierrors.NewNotFound(schema.GroupResource{Resource: q.resource}, ""))
		return
	}
	m.SetResourceVersion(version)
	items = items[min(from, len(items)):]
	if limit > 0 && len(items) > limit {
		items = items[:limit]
		m.SetContinue(strconv.Itoa(from + limit))
	}
	if err := meta.SetList(list, items); err != nil {
		s.fail(w, q, apierrors.NewInternalError(err))
		return
	}
	s.write(w, q, http.StatusOK, list)
}

// matching is called with mu held.
func (s *Server) matching(q request, selector labels.Selector) []runtime.Object {
	prefix := keyOf(q.resource, q.namespace, "")
	var keys []string
	for key, obj := range s.objects {
		if m, _ := meta.Accessor(obj); strings.HasPrefix(key, prefix) && selector.Matches(labels.Set(m.GetLabels())) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	items := make([]runtime.Object, len(keys))
	for i, key := range keys {
		items[i] = s.objects[key]
	}
	return items
}

func newList(resource string) runtime.Object {
	switch resource {
	case "endpointslices":
		return &discoveryv1.EndpointSliceList{}
	case v1alpha1.Resource:
		return &v1alpha1.DynamoWorkerMetadataList{}
	case "pods":
		return &corev1.PodList{}
	case "configmaps":
		return &corev1.ConfigMapList{}
	default:
		return &metav1.Status{}
	}
}

func (s *Server) info(q request) runtime.SerializerInfo {
	media := runtime.ContentTypeJSON
	if q.protobuf && q.gv.Group != v1alpha1.GroupName {
		media = runtime.ContentTypeProtobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), media)
	return info
}

func (s *Server) write(w http.ResponseWriter, q request, code int, obj runtime.Object) {
	info := s.info(q)
	w.Header().Set("Content-Type", info.MediaType)
	w.WriteHeader(code)
	_ = s.encode(info, q.gv, obj, w)
}

// encode works on a copy: an encoder sets the kind on the object while it is at it, and others may be at the same one.
func (s *Server) encode(info runtime.SerializerInfo, gv schema.GroupVersion, obj runtime.Object, w io.Writer) error {
	switch o := obj.(type) {
	case *discoveryv1.EndpointSlice:
		shallow := *o
		obj = &shallow
	case *v1alpha1.DynamoWorkerMetadata:
		// An API server knows no Go type for a custom resource, and therefore writes its keys in alphabetical order.
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return fmt.Errorf("encode %s: %w", o.Name, err)
		}
		fields["apiVersion"], fields["kind"] = gv.String(), "DynamoWorkerMetadata"
		return json.NewEncoder(w).Encode(fields)
	default:
		obj = obj.DeepCopyObject()
	}
	return s.codecs.EncoderForVersion(info.Serializer, gv).Encode(obj, w)
}

func (s *Server) fail(w http.ResponseWriter, _ request, err error) {
	status := apierrors.APIStatus(nil)
	if se, ok := err.(apierrors.APIStatus); ok {
		status = se
	}
	st := status.Status()
	st.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(int(st.Code))
	_ = json.NewEncoder(w).Encode(st)
}

// frame encodes one watch event.
func (s *Server) frame(q request, ev watch.Event) ([]byte, error) {
	info := s.info(q)
	var object bytes.Buffer
	gv := q.gv
	if ev.Type == watch.Error {
		gv = corev1.SchemeGroupVersion
	}
	if err := s.encode(info, gv, ev.Object, &object); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	framed := info.StreamSerializer.NewFrameWriter(&out)
	err := info.StreamSerializer.Encode(&metav1.WatchEvent{
		Type: string(ev.Type), Object: runtime.RawExtension{Raw: object.Bytes()},
	}, framed)
	return out.Bytes(), err
}
