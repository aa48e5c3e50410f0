package validate

import "slices"

// abbreviated-flag: an abbreviation of an identity flag.
//
// Restricted: the beginning of --namespace, --namespace-prefix, --endpoint, --component, --discovery-backend,
// --disaggregation-mode and --modality, as the module spells them, behind a Dynamo module.
//
// Allowed: the whole name; another flag with the same beginning (--endpoint-types); what stands behind "--".
func abbreviatedFlag(s *subject) {
	for i := range s.resolution.Processes {
		p := &s.resolution.Processes[i]
		var seen []string
		for _, a := range p.Abbreviations() {
			if slices.Contains(seen, a.Word) {
				continue
			}
			seen = append(seen, a.Word)
			but := "but " + module(p) + " takes no abbreviations; the process would exit"
			switch {
			case a.Taken:
				but = "but other modules take none, and this one only where no other flag begins so; with another release the process may exit"
			case p.Module.Abbreviations:
				but = "but other flags of " + module(p) + " begin so; the process would exit"
			}
			s.find(a.Field, "", a.Word+" abbreviates "+a.Flag+", "+but+". Write "+a.Flag+".")
		}
	}
}
