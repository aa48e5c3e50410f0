package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A probe comes every other second: its reasons are logged when they change.
func TestReasonsOfReadinessAreLogged(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	var out bytes.Buffer
	var err error
	check := telling(newLogger(&out, slog.LevelInfo, "json"), "caches", func(*http.Request) error { return err })
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	for _, reason := range []string{"", "not filled yet", "not filled yet", "no connection", "", ""} {
		err = nil
		if reason != "" {
			err = errors.New(reason)
		}
		assert.Equal(t, err, check(request), "it answers as the check does")
	}
	type line struct{ Msg, Check, Reason string }
	var got []line
	for d := json.NewDecoder(&out); d.More(); {
		var l line
		require.NoError(t, d.Decode(&l))
		got = append(got, l)
	}
	assert.Equal(t, []line{
		{"not ready", "caches", "not filled yet"}, {"not ready", "caches", "no connection"}, {"ready", "caches", ""},
	}, got)
}

// controller-runtime's own line has what no JSON encoder sees.
func TestStatusesOfHealthAreReadable(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		newLogger(&out, slog.LevelInfo, format).Info("healthz check failed", "statuses", []struct {
			name    string
			healthy bool
		}{{"caches", true}, {"serving", false}})
		assert.Contains(t, out.String(), "[{name:caches healthy:true} {name:serving healthy:false}]", format)
	}
}
