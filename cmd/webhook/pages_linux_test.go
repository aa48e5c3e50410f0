package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPagesOfTheBinaryAreReleased(t *testing.T) {
	before := resident(t)
	require.NoError(t, releasePages())
	assert.Less(t, resident(t), before)
	// Everything is still there.
	TestDefaultsNeedNothingButTheNamespace(t)
}

// Relocations and variables are in no file: they must never be released.
func TestOnlyTheFilesOwnPagesAreReleased(t *testing.T) {
	mappings, err := readMappings()
	require.NoError(t, err)
	binary, err := os.Executable()
	require.NoError(t, err)
	kinds := map[bool]int{}
	for _, m := range mappings {
		if m.path == binary {
			kinds[m.writable]++
			assert.True(t, m.writable || !m.anonymous, "%+v", m)
		}
	}
	assert.NotZero(t, kinds[true])
	assert.NotZero(t, kinds[false])
}

// resident is the number of the file's pages in memory.
func resident(t *testing.T) (pages int) {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	var size, all, shared int
	_, err = fmt.Sscan(string(statm), &size, &all, &shared)
	require.NoError(t, err)
	return shared
}
