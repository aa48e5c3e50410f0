package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/dynawire/dynawire/certs"
	"github.com/dynawire/dynawire/internal/admission"
)

// addHealth adds the checks behind /healthz and /readyz.
func addHealth(mgr ctrl.Manager, log logr.Logger, drain *admission.Drain, o options) error {
	host := o.webhookHost
	if host == "" {
		host = "localhost"
	}
	probe := &certs.Probe{
		Reader: mgr.GetClient(), Configurations: o.configurations, Address: net.JoinHostPort(host, strconv.Itoa(o.webhookPort)),
	}
	synced := func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("caches are not filled yet")
		}
		return nil
	}
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("shutdown", drain.Check),
		mgr.AddReadyzCheck("caches", telling(log, "caches", synced)),
		mgr.AddReadyzCheck("serving", telling(log, "serving", probe.Check)),
	)
}

// telling logs why a check fails when that changes: neither the answer nor controller-runtime's own line says it.
func telling(log logr.Logger, name string, check healthz.Checker) healthz.Checker {
	var mu sync.Mutex
	last := ""
	return func(r *http.Request) error {
		err := check(r)
		reason := ""
		if err != nil {
			reason = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		switch reason {
		case last:
		case "":
			log.Info("ready", "check", name)
		default:
			log.Info("not ready", "check", name, "reason", reason)
		}
		last = reason
		return err
	}
}
