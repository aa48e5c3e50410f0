package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// markerEnv is set on every process of a cluster and inherited by its children:
// who carries it with the cluster's id belongs to the cluster, whatever pid
// files say.
const markerEnv = "DYNAWIRE_CLUSTER_ID"

// pollInterval is how often things that take milliseconds are looked at again.
const pollInterval = 50 * time.Millisecond

// record is a pid file. A pid alone may belong to somebody else by now; a pid
// with its start time does not.
type record struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`
}

// running returns the component's process id, or 0 where it does not run.
func (l Layout) running(component string) int {
	data, err := os.ReadFile(l.pidFile(component))
	if err != nil {
		return 0
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.PID <= 1 {
		return 0
	}
	if start, err := startTime(r.PID); err != nil || start != r.Start {
		return 0
	}
	return r.PID
}

// process is a component that was started by this run of the program.
type process struct {
	pid    int
	exited chan struct{}
}

// launch starts a command detached (setsid), so that it outlives this
// program and its terminal, with its output in the component's log.
func (l Layout) launch(component string, argv []string) (*process, error) {
	log, err := l.openLog(component)
	if err != nil {
		return nil, err
	}
	defer log.Close()                         //nolint:errcheck // the child has its own handle
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it must outlive every context of this program
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = l.State
	// Little else of the caller's: a proxy, say, would get in the way of webhooks.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), markerEnv + "=" + l.ID}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", component, err)
	}
	p := &process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.exited)
	}()
	return p, l.writePID(component, p.pid)
}

func (l Layout) writePID(component string, pid int) error {
	start, err := startTime(pid)
	if err != nil {
		return nil //nolint:nilerr // it exited already: whoever waits for it says so, with its log
	}
	data, err := json.Marshal(record{PID: pid, Start: start})
	if err != nil {
		return fmt.Errorf("encode the pid file of %s: %w", component, err)
	}
	return writeFile(l.pidFile(component), data, 0o644)
}

// openLog keeps the log of the run before, which tells why it ended.
func (l Layout) openLog(component string) (*os.File, error) {
	path := l.log(component)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the log directory: %w", err)
	}
	if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("keep the old log of %s: %w", component, err)
	}
	log, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("make the log of %s: %w", component, err)
	}
	return log, nil
}

// kill ends processes that were found to be the cluster's and waits for them.
func kill(ctx context.Context, find func() ([]int, error)) error {
	for {
		pids, err := find()
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("wait for processes %v to end after SIGKILL: %w", pids, err)
		}
	}
}

// recorded finds the process of one component through its pid file.
func (l Layout) recorded(component string) func() ([]int, error) {
	return func() ([]int, error) {
		if pid := l.running(component); pid != 0 {
			return []int{pid}, nil
		}
		return nil, nil
	}
}

// allRecorded finds every process that has a pid file.
func (l Layout) allRecorded() ([]int, error) {
	files, err := filepath.Glob(l.pidFile("*"))
	if err != nil {
		return nil, fmt.Errorf("list pid files: %w", err)
	}
	var pids []int
	for _, file := range files {
		name := filepath.Base(file)
		if pid := l.running(name[:len(name)-len(filepath.Ext(name))]); pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// wait lets a moment pass, or says why time is up.
func wait(ctx context.Context) error {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

func portAddress(host string, port int) string { return host + ":" + strconv.Itoa(port) }
