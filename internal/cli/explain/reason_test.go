package explain_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/explain"
	"github.com/dynawire/dynawire/pkg/identity"
)

// The documents say of a reason what the command line says.
func TestSentences(t *testing.T) {
	for _, file := range []string{"cli.md", "signals.md"} {
		text, err := os.ReadFile("../../../docs/" + file)
		require.NoError(t, err)
		for _, reason := range []identity.Reason{identity.NotDynamo, identity.OptedOut, identity.OperatorOwned} {
			require.NotEmpty(t, explain.Sentence(reason), reason)
			assert.Contains(t, strings.ReplaceAll(string(text), "`", ""), "| "+explain.Sentence(reason)+" |", "%s: %s", file, reason)
		}
	}
}
