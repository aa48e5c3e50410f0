package audit

import (
	"strconv"
	"strings"

	"github.com/dynawire/dynawire/pkg/validate"
)

// Message is the full text of findings on one line: Events, conditions and logs show a line. Several are numbered.
func Message(findings []validate.Finding) string {
	if len(findings) == 1 {
		return findings[0].String()
	}
	var b strings.Builder
	for i, f := range findings {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("(" + strconv.Itoa(i+1) + ") ")
		b.WriteString(f.String())
	}
	return b.String()
}
