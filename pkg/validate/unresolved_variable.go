package validate

import "github.com/dynawire/dynawire/pkg/identity"

// unresolved-variable: an identity argument has a variable in it that nothing expands.
//
// Restricted: the flags and variables that say namespace, component, endpoint, mode and a frontend's scope, with $(VAR) that is
// not among the variables above it, and ${VAR} or $VAR outside of a shell.
//
// Allowed: $(VAR) of a variable that the container has, also where only the running pod knows its value, and of what an
// envFrom may hold; ${VAR} in a shell string; a namespace that an endpoint path replaces.
func unresolvedVariable(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		if p.Module == nil {
			s.unresolved(p.Namespace)
			s.unresolved(p.Component)
			continue
		}
		for _, flag := range [...]identity.Flag{
			identity.FlagNamespace, identity.FlagNamespacePrefix, identity.FlagComponent, identity.FlagEndpoint, identity.FlagMode, identity.FlagModality,
		} {
			if flag == identity.FlagNamespace && p.Path.Told() && p.Path.Name == p.Namespace.Name {
				continue
			}
			s.unresolved(p.Told(flag))
		}
		s.unresolved(p.Suffix)
	}
}

func (s *subject) unresolved(v identity.Value) {
	text := v.Unread()
	if text == "" {
		return
	}
	s.find(v.Field, "", v.Name+" is "+quoted(text)+", but the container's env has no such variable above it and no shell expands it; the process would take it as it is written. "+
		"Write the value, or $(NAME) of a variable in env.")
}
