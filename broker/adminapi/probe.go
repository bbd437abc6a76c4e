package adminapi

// Probe is how the kubelet should ask a broker, in seconds. docs/operations/admin.md says what follows from it.
type Probe struct {
	Path             string
	PeriodSeconds    int32
	TimeoutSeconds   int32
	FailureThreshold int32 // failures in a row
	// TerminationGraceSeconds is what a process gets to stop that the probe has given up, instead of the pod's own: one that is stopped or
	// stuck will not use it. 0: the pod's.
	TerminationGraceSeconds int32
}

// LivenessProbe ends a process that does not answer or is stuck. It may begin with the container: the endpoint answers from the first moment,
// and what takes long while the broker starts is no failure. So a startup probe is not needed.
func LivenessProbe() Probe {
	return Probe{Path: "/healthz", PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 6, TerminationGraceSeconds: 30}
}

// ReadinessProbe takes a broker that does not serve out of what new clients find.
func ReadinessProbe() Probe {
	return Probe{Path: "/readyz", PeriodSeconds: 3, TimeoutSeconds: 5, FailureThreshold: 2}
}

// WorstSeconds is the longest time from the moment from which on every answer fails until the kubelet acts, by killing in the end.
func (p Probe) WorstSeconds() int32 {
	return p.FailureThreshold*p.PeriodSeconds + p.TimeoutSeconds + p.TerminationGraceSeconds
}
