package objects_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynawire/dynawire/internal/cli/manifest"
	"github.com/dynawire/dynawire/internal/cli/objects"
)

// A field that is not there is where it would have to go.
func TestLocate(t *testing.T) {
	const text = "# c\nkind: Pod\nmetadata:\n  labels:\n    a.b/c: d\nspec:\n  containers:\n  - name: x\n  - name: y\n    env:\n    - name: A\n    - name: B\n      value: v\n  - *y\n"
	documents, err := manifest.Parse("f", []byte("---\n"+"x: &y {name: z,\n command: []}\n"+text))
	require.NoError(t, err)
	_, all, err := objects.Open(&documents[0])
	require.NoError(t, err)
	for field, line := range map[string]int{
		"metadata": 6, "metadata.labels[a.b/c]": 8, "metadata.labels[absent]": 7, "metadata.annotations[x]": 6,
		"spec.containers[0]": 11, "spec.containers[0].args": 11, "spec.containers[1].env[B].value": 16, "spec.containers[1].env[1].value": 16,
		"spec.containers[1].env[C]": 13, "spec.containers[2].command": 3, "spec.containers[9]": 10, "": 2, "annotation x of the Namespace": 2, "spec.containers[": 10,
	} {
		assert.Equal(t, line, documents[0].LineOf(objects.Locate(all[0].Node, field)), field)
	}
}
