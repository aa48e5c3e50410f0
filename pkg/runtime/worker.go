package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// defaultDrain is a probe period of a second, the way of the news to the peers, and the requests that are on their way.
const defaultDrain = 5 * time.Second

// Worker is the life of a process as an instance, for Run: what to register, what to do before it is ready, what to do then.
type Worker struct {
	Registration Registration
	// Load makes the process able to serve: it loads the model. Run waits for it even after its context ended, so it had
	// better heed that. Nil: the process is able at once.
	Load func(ctx context.Context, self Instance) error
	// Serve answers requests, from before the instance is ready until its context ends; then it finishes what is under way
	// and returns. Nil: the program serves by other means.
	Serve func(ctx context.Context, self Instance) error
	// Drain is how long to go on serving after the instance stopped being ready, while peers notice; 0 means 5 s, negative
	// not at all. The pod's terminationGracePeriodSeconds must be longer.
	Drain time.Duration
	// Logger; nil means slog.Default.
	Logger *slog.Logger
}

// UntilTerminated returns a context for Run, which ends with the first SIGTERM or interrupt. The second one ends the process
// at once, as it does programs that take no notice: nobody who presses Ctrl-C again wants to wait for the drain.
func UntilTerminated(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// Run lives a worker's life in the right order: it registers, begins to serve, loads, becomes ready; when ctx ends (that of
// UntilTerminated, with SIGTERM) it stops being ready, goes on serving for Drain, lets Serve finish, and returns
// nil. If Serve or Load returns before that, the instance stops being ready and Run returns the error. It does not close d.
func (w Worker) Run(ctx context.Context, d Discovery) error {
	log := w.Logger
	if log == nil {
		log = slog.Default()
	}
	self, err := d.CreateInstance(ctx, w.Registration)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		log.Info("told to end before it was registered", "error", err)
		return nil
	case err != nil:
		return err
	}
	log.Info("registered", "instance", self.ID.String(), "uid", self.ID.UID, "component", self.Namespace+"/"+self.Component)

	// Neither serving nor the last change of status ends with ctx.
	after := context.WithoutCancel(ctx)
	serving, stop := context.WithCancel(after)
	defer stop()
	served := w.serve(serving, self)
	finish := func(err error) error {
		stop()
		if serveErr := <-served; err == nil {
			err = serveErr
		}
		return err
	}

	loading, cancel := context.WithCancel(ctx)
	defer cancel()
	loaded := make(chan error, 1)
	go func() { loaded <- w.load(loading, self) }()
	select {
	case err := <-served:
		cancel()
		log.Debug("loading was interrupted", "error", <-loaded)
		return err
	case err := <-loaded:
		if ctx.Err() != nil {
			return finish(nil)
		}
		if err != nil {
			return finish(fmt.Errorf("load: %w", err))
		}
	}
	if err := d.SetStatus(ctx, self, StatusReady); err != nil {
		return finish(err)
	}
	log.Info("ready", "instance", self.ID.String())

	select {
	case err := <-served:
		_ = d.SetStatus(after, self, StatusNotReady) // best effort: the process is about to end
		return err
	case <-ctx.Done():
	}
	if err := d.SetStatus(after, self, StatusNotReady); err != nil {
		return finish(err)
	}
	drain := w.Drain
	if drain == 0 {
		drain = defaultDrain
	}
	log.Info("draining", "instance", self.ID.String(), "for", max(drain, 0).String())
	select {
	case err := <-served:
		return err
	case <-time.After(drain):
	}
	return finish(nil)
}

// serve runs Serve; the channel has its error once it returns. A nil Serve is one that does nothing until it is told to end.
func (w Worker) serve(ctx context.Context, self Instance) <-chan error {
	served := make(chan error, 1)
	go func() {
		if w.Serve == nil {
			<-ctx.Done()
			served <- nil
			return
		}
		err := w.Serve(ctx, self)
		if err != nil {
			err = fmt.Errorf("serve: %w", err)
		}
		served <- err
	}()
	return served
}

func (w Worker) load(ctx context.Context, self Instance) error {
	if w.Load == nil {
		return nil
	}
	return w.Load(ctx, self)
}
