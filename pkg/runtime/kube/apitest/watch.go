package apitest

import (
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func (s *Server) watch(w http.ResponseWriter, r *http.Request, q request) {
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		s.fail(w, q, apierrors.NewBadRequest(err.Error()))
		return
	}
	wr := &watcher{request: q, resource: q.resource, namespace: q.namespace, selector: selector, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	switch initial := query.Get("sendInitialEvents") == "true"; {
	case initial && s.noStream:
		s.mu.Unlock()
		s.fail(w, q, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil))
		return
	case initial:
		if wr.first, err = s.initialState(q, selector); err != nil {
			s.mu.Unlock()
			s.fail(w, q, apierrors.NewInternalError(err))
			return
		}
	default:
		s.resume(wr, query.Get("resourceVersion"))
	}
	s.watchers[wr] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, wr)
		s.mu.Unlock()
	}()

	info := s.info(q)
	w.Header().Set("Content-Type", info.MediaType+";stream=watch")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	wr.notify()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-wr.wake:
		}
		s.mu.Lock()
		first, queue, ended := wr.first, wr.queue, wr.ended
		wr.first, wr.queue = nil, nil
		s.mu.Unlock()
		for len(first) > 0 { // in pieces, so that the reader begins before it is all written
			n := min(len(first), 512<<10)
			if _, err := w.Write(first[:n]); err != nil {
				return
			}
			first = first[n:]
		}
		for _, ev := range queue {
			b, err := s.frame(q, ev)
			if err != nil {
				return
			}
			if _, err := w.Write(b); err != nil {
				return
			}
		}
		_ = flush.Flush()
		if ended {
			return
		}
	}
}

// initialState encodes all that matches and the mark behind it. Called with mu held.
func (s *Server) initialState(q request, selector labels.Selector) ([]byte, error) {
	key := fmt.Sprint(q.resource, " ", q.namespace, " ", selector, " ", q.protobuf)
	if known, ok := s.initial[key]; ok && known.version == s.version {
		return known.frames, nil
	}
	var frames []byte
	for _, obj := range s.matching(q, selector) {
		frame, err := s.frame(q, watch.Event{Type: watch.Added, Object: obj})
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame...)
	}
	mark, err := s.frame(q, s.bookmark(q))
	if err != nil {
		return nil, err
	}
	s.initial[key] = initialState{s.version, append(frames, mark...)}
	return s.initial[key].frames, nil
}

// resume queues what happened since that version, or the news that nobody remembers. Called with mu held.
func (s *Server) resume(wr *watcher, version string) {
	since, _ := strconv.ParseUint(version, 10, 64)
	if since < s.oldest {
		st := apierrors.NewResourceExpired("too old resource version").Status()
		st.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		wr.queue, wr.ended = []watch.Event{{Type: watch.Error, Object: &st}}, true
		return
	}
	for _, c := range s.history {
		if c.version > since {
			wr.offer(c.resource, c.event)
		}
	}
}

// bookmark ends the initial state. Called with mu held.
func (s *Server) bookmark(q request) watch.Event {
	obj, err := s.scheme.New(q.gv.WithKind(map[string]string{
		"endpointslices": "EndpointSlice", "dynamoworkermetadatas": "DynamoWorkerMetadata", "pods": "Pod",
		"configmaps": "ConfigMap",
	}[q.resource]))
	if err != nil {
		obj = &metav1.Status{}
	}
	if m, err := meta.Accessor(obj); err == nil {
		m.SetResourceVersion(strconv.FormatUint(s.version, 10))
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return watch.Event{Type: watch.Bookmark, Object: obj}
}
