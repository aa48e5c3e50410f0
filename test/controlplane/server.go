package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Server is a process of cmd/webhook that acts as the ServiceAccount of the manifests, and so may do no more than they
// say.
type Server struct {
	Name string
	// Port of the webhooks, on localhost.
	Port int
	// Health and Metrics are addresses.
	Health, Metrics string
	// Log is what the process has written.
	Log *Output

	plane   *ControlPlane
	flags   []string
	command *exec.Cmd
	exited  chan error
	stopped bool
}

// Output is what a process has written.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (c *ControlPlane) binary() string { return filepath.Join(c.workspace, "webhook") }

// build builds the server as `make build` does.
func (c *ControlPlane) build() error {
	b := exec.Command("go", "build", "-trimpath", "-o", c.binary(), "./cmd/webhook") //nolint:noctx // it ends by itself
	b.Dir = root()
	b.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := b.CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return nil
}

// NewServer is a server that is not started yet, on free ports. The flags are for all its starts.
func (c *ControlPlane) NewServer(name string, flags ...string) (*Server, error) {
	s := &Server{Name: name, Log: &Output{}, plane: c, flags: flags}
	var ports [3]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	s.Port = ports[0]
	s.Health = "127.0.0.1:" + strconv.Itoa(ports[1])
	s.Metrics = "127.0.0.1:" + strconv.Itoa(ports[2])
	return s, nil
}

// Start starts the process with further flags.
func (s *Server) Start(flags ...string) error {
	kubeconfig := filepath.Join(s.plane.workspace, s.Name+".kubeconfig")
	if err := s.plane.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	arguments := []string{
		"--kubeconfig", kubeconfig,
		"--namespace", SystemNamespace,
		"--webhook-host", "127.0.0.1",
		"--webhook-port", strconv.Itoa(s.Port),
		"--extra-dns-names", "localhost",
		"--health-address", s.Health,
		"--metrics-address", s.Metrics,
		"--shutdown-delay", "1s",
	}
	arguments = append(append(arguments, s.flags...), flags...)
	s.command = exec.Command(s.plane.binary(), arguments...) //nolint:noctx // Stop ends it, as the kubelet does
	s.command.Stdout, s.command.Stderr = s.Log, s.Log
	if err := s.command.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	s.exited, s.stopped = make(chan error, 1), false
	go func() { s.exited <- s.command.Wait() }()
	return nil
}

// PID of the process.
func (s *Server) PID() int { return s.command.Process.Pid }

// Stop ends the process as the kubelet does.
func (s *Server) Stop() error {
	s.stopped = true
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-s.exited:
		return err
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the server did not stop"), s.command.Process.Kill())
	}
}

// Stopped is whether Stop was called since the start.
func (s *Server) Stopped() bool { return s.stopped }

// WaitReady waits until the server says that it is ready.
func (s *Server) WaitReady() error {
	deadline := time.Now().Add(60 * time.Second)
	for {
		code, body := Get("http://" + s.Health + "/readyz?verbose")
		if code == http.StatusOK {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("server %s is not ready: %d %s\n%s", s.Name, code, body, s.Log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Get is the status and the body of a page; 0 where there is no answer.
func Get(url string) (int, string) {
	resp, err := http.Get(url) //nolint:noctx,gosec // a page of our own
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}
