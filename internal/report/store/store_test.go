package store_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/dynawire/dynawire/internal/report"
	"github.com/dynawire/dynawire/internal/report/store"
)

// answering is a client of an API server that gives one answer, and the last request that it got.
func answering(t *testing.T, code int, contentType, body string) (*store.Client, *http.Request, *[]byte) {
	t.Helper()
	last, sent := &http.Request{}, &[]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = *r
		*sent, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	c, err := store.New(&rest.Config{Host: s.URL}, s.Client())
	require.NoError(t, err)
	return c, last, sent
}

const stored = `{"apiVersion":"openreports.io/v1alpha1","kind":"Report","metadata":{"name":"dynawire-admission","namespace":"llm","resourceVersion":"7"}}`

func TestWhatIsReadCanBeWrittenBack(t *testing.T) {
	c, last, sent := answering(t, http.StatusOK, "application/json", stored)
	r, err := c.Get(t.Context(), "llm", report.Admission)
	require.NoError(t, err)
	n, err := c.Update(t.Context(), r)
	require.NoError(t, err)
	assert.Equal(t, "PUT /apis/openreports.io/v1alpha1/namespaces/llm/reports/dynawire-admission", last.Method+" "+last.URL.Path)
	assert.Len(t, *sent, n)
	var body map[string]any
	require.NoError(t, json.Unmarshal(*sent, &body))
	assert.Equal(t, "Report", body["kind"])
	assert.Equal(t, "7", body["metadata"].(map[string]any)["resourceVersion"])
}

func TestNamespacesAreFoundByTheNameOfTheirReport(t *testing.T) {
	c, last, _ := answering(t, http.StatusOK, "application/json", `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",
		"items":[{"metadata":{"name":"dynawire-drift","namespace":"a"}},{"metadata":{"name":"dynawire-drift","namespace":"b"}}]}`)
	namespaces, err := c.Namespaces(t.Context(), report.Drift)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, namespaces)
	assert.Equal(t, "/apis/openreports.io/v1alpha1/reports", last.URL.Path)
	assert.Equal(t, "metadata.name=dynawire-drift", last.URL.Query().Get("fieldSelector"), "the right to list ends at this name")
	assert.Contains(t, last.Header.Get("Accept"), "as=PartialObjectMetadataList")

	c, _, _ = answering(t, http.StatusNotFound, "text/plain", "404 page not found\n")
	_, err = c.Namespaces(t.Context(), report.Drift)
	require.ErrorIs(t, err, store.ErrNotInstalled)
}

func TestErrorsThatCallersTellApart(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"m",`
	for name, tc := range map[string]struct {
		code       int
		kind, body string
		want       error
	}{
		"no CRD":            {404, "text/plain", "404 page not found\n", store.ErrNotInstalled},
		"no namespace":      {404, "application/json", status + `"reason":"NotFound","code":404,"details":{"name":"llm","kind":"namespaces"}}`, store.ErrNamespaceGone},
		"a namespace going": {403, "application/json", status + `"reason":"Forbidden","code":403,"details":{"causes":[{"reason":"NamespaceTerminating"}]}}`, store.ErrNamespaceGone},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := answering(t, tc.code, tc.kind, tc.body)
			_, err := c.Create(t.Context(), report.New("llm", report.Admission))
			require.ErrorIs(t, err, tc.want)
		})
	}
	c, _, _ := answering(t, 404, "application/json", status+`"reason":"NotFound","code":404,"details":{"name":"dynawire-admission","group":"openreports.io","kind":"reports"}}`)
	_, err := c.Get(t.Context(), "llm", report.Admission)
	require.True(t, apierrors.IsNotFound(err))
	require.NotErrorIs(t, err, store.ErrNotInstalled)
	require.NotErrorIs(t, err, store.ErrNamespaceGone)
}
