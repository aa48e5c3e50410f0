package runtime

// Take returns the next event if one is due.
func (s *Subscription) Take() (Event, bool) { return s.take() }

// Backlog is how many instances and queue entries the subscription holds for its reader.
func (s *Subscription) Backlog() (pending, queued int) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return len(s.behind), len(s.queue) + len(s.log) + len(s.snapshot)
}

// IdentityFrom is IdentityFromEnv with another environment.
func IdentityFrom(env map[string]string) (Identity, error) {
	return identityFrom(func(name string) string { return env[name] })
}
