package validate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/pkg/validate"
)

// Every rule has its section, in order, and the messages shown are golden ones.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/rules.md")
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	messages := ""
	for _, file := range files {
		golden, err := os.ReadFile(file)
		require.NoError(t, err)
		messages += strings.Join(strings.Fields(string(golden)), " ") + " "
	}
	sections := strings.Split(string(data), "\n### ")[1:]
	rules := validate.Rules()
	require.Len(t, sections, len(rules))
	for i, section := range sections {
		id, text, _ := strings.Cut(section, "\n")
		assert.Equal(t, rules[i].ID, id)
		var example []string
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "    ") {
				example = append(example, strings.Fields(line)...)
			}
		}
		if message := strings.Join(example, " "); !strings.Contains(message, "…") { // shortened by hand
			assert.True(t, strings.Contains(messages, message), "%s: %s", id, message)
		}
	}
}
