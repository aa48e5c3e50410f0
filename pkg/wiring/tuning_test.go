package wiring_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dynawire/dynawire/pkg/wiring"
)

func TestTuning(t *testing.T) {
	ns, warnings := wiring.SettingsOf(map[string]string{
		wiring.AnnotationProbePeriod: "5", wiring.AnnotationSystemPort: "9100", wiring.AnnotationSkip: "probe",
	})
	assert.Empty(t, warnings)
	assert.Equal(t, wiring.Tuning{ProbePeriod: 5, SystemPort: 9100, SkipProbe: true}, ns.Tuning)

	tuning, warnings := ns.TuningFor(nil)
	assert.Equal(t, ns.Tuning, tuning)
	assert.Empty(t, warnings)
	tuning, warnings = ns.TuningFor(map[string]string{wiring.AnnotationProbePeriod: "2", wiring.AnnotationSkip: "port, service-account"})
	assert.Equal(t, wiring.Tuning{ProbePeriod: 2, SystemPort: 9100, SkipPort: true, SkipServiceAccount: true}, tuning)
	assert.Empty(t, warnings)
	tuning, warnings = ns.TuningFor(map[string]string{wiring.AnnotationSkip: ""})
	assert.False(t, tuning.SkipProbe, "an empty list skips nothing")
	assert.Empty(t, warnings)

	tuning, warnings = ns.TuningFor(map[string]string{
		wiring.AnnotationProbePeriod: "0", wiring.AnnotationSystemPort: "40000", wiring.AnnotationSkip: "probe,labels",
	})
	assert.Equal(t, ns.Tuning, tuning)
	assert.Equal(t, []string{
		`annotation dynawire.io/probe-period is "0", want a number from 1 to 300; it is ignored`,
		`annotation dynawire.io/system-port is "40000", want a number from 1 to 32767; it is ignored`,
		`annotation dynawire.io/skip has "labels", want probe, port or service-account; it is ignored`,
	}, warnings)
}

func TestIsLabelValue(t *testing.T) {
	for _, value := range []string{"a", "A-b_c.d", "0", strings.Repeat("x", 63), strings.Repeat("x", 64), "-a", "a-", ".", "a b", "é", "a/b", "a\n"} {
		assert.Equal(t, len(validation.IsValidLabelValue(value)) == 0, wiring.IsLabelValue(value), "%q", value)
	}
	assert.False(t, wiring.IsLabelValue(""), "a label may be empty, a name may not")
}

func FuzzIsLabelValue(f *testing.F) {
	f.Add("a.b-c_d")
	f.Fuzz(func(t *testing.T, value string) {
		if want := value != "" && len(validation.IsValidLabelValue(value)) == 0; wiring.IsLabelValue(value) != want {
			t.Fatalf("%q: want %v", value, want)
		}
	})
}

func TestSettingsNamespace(t *testing.T) {
	assert.Equal(t, "team-a", wiring.Settings{DynamoNamespace: "team-a"}.Namespace())
	assert.Empty(t, wiring.Settings{DynamoNamespace: "team a"}.Namespace())
}
