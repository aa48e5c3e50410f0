package local

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	const after = " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9"
	for name, tc := range map[string]struct {
		stat, want string
		fail       bool
	}{
		"a process":              {stat: "7 (etcd) S" + after, want: "4711"},
		"an unkind command name": {stat: "7 (a) R (b) S" + after, want: "4711"},
		"a zombie":               {stat: "7 (etcd) Z" + after, fail: true},
		"cut short":              {stat: "7 (etcd) S 1 1", fail: true},
		"empty":                  {fail: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(tc.stat))
			require.Equal(t, tc.fail, err != nil)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestMarkedFindsChildrenToo(t *testing.T) {
	c := newTestCluster(t)
	// The shell has two children and no pid file knows them.
	p, err := c.launch("parent", []string{"sh", "-c", "sleep 60 & sleep 60 & wait"})
	require.NoError(t, err)
	other := exec.CommandContext(t.Context(), "sleep", "60")
	other.Env = []string{markerEnv + "=" + c.ID + "0"} // a longer id is another cluster
	require.NoError(t, other.Start())
	require.Eventually(t, func() bool {
		pids, err := c.marked()
		return err == nil && len(pids) == 3
	}, checkTimeout, pollInterval)
	require.NoError(t, os.RemoveAll(c.State))
	require.NoError(t, c.killAll(t.Context()))
	<-p.exited
	_, err = startTime(other.Process.Pid)
	require.NoError(t, err)
	require.NoError(t, other.Process.Kill())
	_ = other.Wait()
}

const mountinfo = `22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw
30 22 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 22 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
40 22 254:0 /x /run/dynawire/a-1 rw - ext4 /dev/vda rw
41 40 0:4 mnt:[4026532] /run/dynawire/a-1/ns/mnt rw - nsfs nsfs rw
42 22 254:0 /x /run/dynawire/a-12/ns rw - ext4 /dev/vda rw
`

func TestCgroupMounts(t *testing.T) {
	require.Equal(t, []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"}, cgroupMounts(mountinfo))
}

func TestMountsAreListedInnermostFirst(t *testing.T) {
	require.Equal(t, []string{"/run/dynawire/a-1/ns/mnt", "/run/dynawire/a-1"}, mountPointsUnder(mountinfo, "/run/dynawire/a-1", "/var/lib/x"))
}
