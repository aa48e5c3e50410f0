package drift

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

func TestItems(t *testing.T) {
	for name, tc := range map[string]struct {
		list, next string
		items      []string
		wrong      string
	}{
		"a page":        {`{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"more"},"items":[{"a":1},{"b":2}]}`, "more", []string{`{"a":1}`, `{"b":2}`}, ""},
		"items first":   {`{"items":[{"a":1}],"metadata":{"continue":"more"}}`, "more", []string{`{"a":1}`}, ""},
		"the last page": {`{"metadata":{},"items":[]}`, "", nil, ""},
		"null":          {`{"metadata":{},"items":null}`, "", nil, ""},
		"cut off":       {`{"metadata":{"continue":"more"},"items":[{"a":1}`, "", []string{`{"a":1}`}, "EOF"},
		"no list":       {`[]`, "", nil, "want {"},
		"no array":      {`{"items":"x"}`, "", nil, "want ["},
		"empty":         {``, "", nil, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			next, err := items(strings.NewReader(tc.list), func(raw []byte) error {
				got = append(got, string(raw))
				return nil
			})
			assert.Equal(t, tc.items, got)
			if tc.wrong != "" {
				assert.ErrorContains(t, err, tc.wrong)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.next, next)
		})
	}
}

func FuzzItems(f *testing.F) {
	f.Add([]byte(`{"metadata":{"continue":"x"},"items":[{"metadata":{"deletionTimestamp":null},"status":{"conditions":[{"type":"Ready"}]}}]}`))
	f.Add([]byte(`{"items":[{"status":{"containerStatuses":[{"name":"a","restartCount":3,"lastState":{"terminated":{"exitCode":0}}}]}}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _ = items(strings.NewReader(string(data)), func(raw []byte) error {
			_, _, err := decodePod(raw)
			return err
		})
		published{}.add("uid", data)
	})
}

// client is a REST client of a server that answers by path and query.
func client(t *testing.T, gv schema.GroupVersion, apiPath string, answer func(*http.Request) (int, string)) rest.Interface {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body := answer(r)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	c, err := rest.RESTClientFor(&rest.Config{Host: server.URL, APIPath: apiPath, ContentConfig: rest.ContentConfig{
		GroupVersion: &gv, NegotiatedSerializer: serializer.NewCodecFactory(clientgoscheme.Scheme).WithoutConversion(),
	}})
	require.NoError(t, err)
	return c
}

func TestPodsComePageByPage(t *testing.T) {
	var asked []string
	api := &API{Core: client(t, schema.GroupVersion{Version: "v1"}, "/api", func(r *http.Request) (int, string) {
		asked = append(asked, r.URL.Path+"?"+r.URL.Query().Get("continue"))
		assert.Equal(t, "100", r.URL.Query().Get("limit"))
		assert.Equal(t, "nvidia.com/dynamo-discovery-enabled!=false,!nvidia.com/dynamo-graph-deployment-name,!nvidia.com/selector", r.URL.Query().Get("labelSelector"))
		if r.URL.Query().Get("continue") == "" {
			return http.StatusOK, `{"metadata":{"continue":"2"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"going","deletionTimestamp":"2026-11-21T00:00:00Z"}}]}`
		}
		return http.StatusOK, `{"metadata":{},"items":[{"metadata":{"name":"b"},"status":{"conditions":[{"type":"Ready","status":"True"}],
			"containerStatuses":[{"name":"main","restartCount":3,"lastState":{"terminated":{"exitCode":0}}},{"name":"other","restartCount":0}]}}]}`
	})}
	var got []Pod
	require.NoError(t, api.Pods(t.Context(), "llm", func(p Pod) { got = append(got, p) }))
	assert.Equal(t, []string{"/api/v1/namespaces/llm/pods?", "/api/v1/namespaces/llm/pods?2"}, asked)
	require.Len(t, got, 2)
	assert.Equal(t, "a", got[0].Metadata.Name)
	assert.False(t, got[0].Ready)
	assert.Equal(t, "b", got[1].Metadata.Name)
	assert.True(t, got[1].Ready)
	assert.Equal(t, map[string]Exit{"main": {Restarts: 3}}, got[1].Exits)
}

func TestFailedListNamesTheNamespace(t *testing.T) {
	status := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`
	api := &API{Core: client(t, schema.GroupVersion{Version: "v1"}, "/api", func(*http.Request) (int, string) { return http.StatusForbidden, status })}
	err := api.Pods(t.Context(), "llm", func(Pod) { t.Error("no pod was there") })
	assert.ErrorContains(t, err, "list pods of namespace llm: ")
}

func TestModels(t *testing.T) {
	gv := schema.GroupVersion{Group: "nvidia.com", Version: "v1alpha1"}
	api := &API{Dynamo: client(t, gv, "/apis", func(r *http.Request) (int, string) {
		if r.URL.Path != "/apis/nvidia.com/v1alpha1/namespaces/llm/dynamoworkermetadatas" {
			return http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		return http.StatusOK, `{"metadata":{},"items":[{"metadata":{"ownerReferences":[{"kind":"Pod","uid":"u"}]},"spec":{"data":{"endpoints":{},
			"model_cards":{"k":{"type":"Model","namespace":"dynamo","component":"backend","endpoint":"generate","card_json":{"display_name":"qwen","source_path":"/m"}},
			"l":{"type":"Model","namespace":"dynamo","component":"backend","endpoint":"generate","model_suffix":"lora","card_json":{"display_name":"adapter"}}}}}},
			{"metadata":{},"spec":{"data":null}}]}`
	})}
	known := published{}
	require.NoError(t, api.Models(t.Context(), "llm", known.add))
	assert.Equal(t, published{"u": {"dynamo.backend.generate": {"qwen", "/m"}}}, known)
	require.NoError(t, api.Models(t.Context(), "elsewhere", known.add), "without the CRD there is nothing")
}
