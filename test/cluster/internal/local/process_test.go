package local

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAComponentIsKnownByItsPidAndStart(t *testing.T) {
	c := newTestCluster(t)
	p, err := c.launch("sleeper", []string{"sleep", "60"})
	require.NoError(t, err)
	require.Equal(t, p.pid, c.running("sleeper"))
	require.Zero(t, c.running("other"))

	t.Run("a pid that is somebody else's now is not it", func(t *testing.T) {
		stale, err := json.Marshal(record{PID: os.Getpid(), Start: "before"})
		require.NoError(t, err)
		require.NoError(t, writeFile(c.pidFile("stale"), stale, 0o600))
		require.Zero(t, c.running("stale"))
	})
	t.Run("broken pid files know nobody", func(t *testing.T) {
		for _, content := range []string{"", "{", `{"pid":0}`, `{"pid":1}`, `{"pid":-1}`} {
			require.NoError(t, writeFile(c.pidFile("broken"), []byte(content), 0o600))
			require.Zero(t, c.running("broken"), content)
		}
	})
	t.Run("killing it leaves everybody else", func(t *testing.T) {
		bystander := exec.CommandContext(t.Context(), "sleep", "60")
		require.NoError(t, bystander.Start())
		require.NoError(t, c.killAll(t.Context()))
		<-p.exited
		require.Zero(t, c.running("sleeper"))
		_, err := startTime(bystander.Process.Pid)
		require.NoError(t, err)
		require.NoError(t, bystander.Process.Kill())
		_ = bystander.Wait()
	})
}

func TestStart(t *testing.T) {
	t.Run("one that ends at once tells what it said", func(t *testing.T) {
		c := newTestCluster(t)
		err := c.start(t.Context(), component{name: "broken",
			argv:    []string{"sh", "-c", "echo no such flag >&2; exit 1"},
			healthy: func(context.Context) error { return errors.New("not answering") }})
		require.ErrorContains(t, err, "broken of cluster unit ended right after its start")
		require.ErrorContains(t, err, "no such flag")
		require.ErrorContains(t, err, c.log("broken"))
	})
	t.Run("one that never becomes healthy tells why", func(t *testing.T) {
		c := newTestCluster(t)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		err := c.start(ctx, component{name: "slow", argv: []string{"sleep", "60"},
			healthy: func(context.Context) error { return errors.New("not answering") }})
		require.ErrorContains(t, err, "slow of cluster unit did not become healthy in time: not answering")
		require.NoError(t, c.killAll(t.Context()))
	})
	t.Run("one that is well is left alone", func(t *testing.T) {
		c := newTestCluster(t)
		comp := component{name: "good", argv: []string{"sleep", "60"}, healthy: func(context.Context) error { return nil }}
		fresh, err := c.ensure(t.Context(), comp)
		require.NoError(t, err)
		require.True(t, fresh)
		pid := c.running("good")
		fresh, err = c.ensure(t.Context(), comp)
		require.NoError(t, err)
		require.False(t, fresh)
		require.Equal(t, pid, c.running("good"))
		require.NoError(t, c.killAll(t.Context()))
	})
}

func TestDownNeedsNoState(t *testing.T) {
	c := newTestCluster(t)
	p, err := c.launch("sleeper", []string{"sleep", "60"})
	require.NoError(t, err)
	require.NoError(t, Down(t.Context(), c.paths, c.Name, c.out))
	<-p.exited
	require.NoDirExists(t, c.State)
	require.NoError(t, Down(t.Context(), c.paths, c.Name, c.out), "a second time is no error")
}

func TestTail(t *testing.T) {
	c := newTestCluster(t)
	require.NoError(t, writeFile(c.log("x"), []byte("1\n2\n3\n\n"), 0o600))
	require.Equal(t, "2\n3", string(tail(c.log("x"), 2)))
	require.Equal(t, "1\n2\n3", string(tail(c.log("x"), 9)))
	require.Contains(t, string(tail(c.log("none"), 2)), "no such file")
}

func TestDependencies(t *testing.T) {
	there := Dependency{"shell", "sh"}
	gone := Dependency{"none-such", "no-such-program"}
	goneFile := Dependency{"none-such-either", "/no/such/file"}
	require.NoError(t, Require("a test", []Dependency{there}))
	require.Equal(t, []Dependency{gone, goneFile}, Missing([]Dependency{gone, there, goneFile}))
	err := Require("a test", []Dependency{gone, there, goneFile})
	require.EqualError(t, err, "a test needs Debian packages that are not installed: none-such none-such-either\n"+
		"Install them with: apt-get install --no-install-recommends -y none-such none-such-either")
}
