package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	stdlog "log"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultsNeedNothingButTheNamespace(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "dynawire-system")
	o, err := parse(nil)
	require.NoError(t, err)
	assert.EqualValues(t, tls.VersionTLS13, o.tlsMinVersion)
	assert.Equal(t, []string{"kube-system", "dynawire-system"}, o.excluded)
	assert.Equal(t, "dynawire-webhook.dynawire-system.svc", o.dnsNames[0], "the name that the API server uses")
	assert.Less(t, o.accountWait.Seconds(), 5.0, "the timeout of the webhook configuration")
}

func TestFlagsThatCannotWorkAreRefused(t *testing.T) {
	for flag, part := range map[string]string{
		"--tls-min-version=1.1": "1.2 or 1.3",
		"--cert-mode=magic":     "self-managed or files",
		"--log-format=xml":      "json or text",
		"--log-level=loud":      "loud",
		"--unknown":             "unknown flag",
		"argument":              `unknown argument "argument"`,
	} {
		_, err := parse([]string{"--namespace=a", flag})
		assert.ErrorContains(t, err, part)
	}
	t.Setenv("POD_NAMESPACE", "")
	_, err := parse(nil)
	assert.ErrorContains(t, err, "--namespace")
}

func TestHelpAndVersion(t *testing.T) {
	_, err := parse([]string{"--help"})
	require.ErrorIs(t, err, pflag.ErrHelp)
	o, err := parse([]string{"--version"})
	require.NoError(t, err)
	assert.True(t, o.printVersion)
}

func TestEveryLineIsJSONOfTheLevelAskedFor(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	for level, want := range map[slog.Level][]string{
		slog.LevelDebug: {"DEBUG", "DEBUG", "DEBUG", "INFO", "ERROR"},
		slog.LevelInfo:  {"INFO", "ERROR"},
		slog.LevelError: {"ERROR"},
	} {
		var out bytes.Buffer
		log := newLogger(&out, level, "json")
		stdlog.Print("http: TLS handshake error")
		log.V(1).Info("detail")
		log.V(4).Info("more detail")
		log.Info("news")
		log.Error(nil, "trouble")
		var got []string
		for line := range strings.Lines(out.String()) {
			var entry struct{ Level, Msg string }
			require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
			got = append(got, entry.Level)
		}
		assert.Equal(t, want, got, level.String())
	}
}
