package encode_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/encode"
)

type full struct{}

var errFull = errors.New("no space")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestForms(t *testing.T) {
	value := []map[string]any{{"a": "<1>", "b": 2}}
	for name, tc := range map[string]struct {
		write func(io.Writer, any) error
		want  string
	}{
		"JSON":     {encode.JSON, "[\n  {\n    \"a\": \"<1>\",\n    \"b\": 2\n  }\n]\n"},
		"Line":     {encode.Line, "[{\"a\":\"<1>\",\"b\":2}]\n"},
		"YAML":     {encode.YAML, "- a: <1>\n  b: 2\n"},
		"Document": {encode.Document, "---\n- a: <1>\n  b: 2\n"},
	} {
		var out strings.Builder
		require.NoError(t, tc.write(&out, value), name)
		assert.Equal(t, tc.want, out.String(), name)
		require.ErrorIs(t, tc.write(full{}, value), errFull, name)
		require.Error(t, tc.write(io.Discard, func() {}), name)
	}
}
