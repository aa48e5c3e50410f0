package lock

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAcquireWaitsForTheHolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dir", "lock")
	release, err := Acquire(t.Context(), file, func() { t.Error("nobody holds it") })
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 3*retry)
	defer cancel()
	told := 0
	_, err = Acquire(ctx, file, func() { told++ })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, 1, told, "a waiting caller is told once")

	time.AfterFunc(retry, release)
	again, err := Acquire(t.Context(), file, func() {})
	require.NoError(t, err)
	again()
}
