package cluster

// Compute plans. It is a function of the snapshot alone.
func Compute(s Snapshot) Plan {
	return Plan{Status: *s.Cluster.Status.DeepCopy(), LookAgain: Steady}
}

// Candidates are the brokers that a plan of this snapshot would stop next if it were safe, ascending: what an observer asks verdicts
// for before it calls [Compute]. Verdicts that are in the snapshot already do not matter. There is none while nothing is to be stopped.
func Candidates(s Snapshot) []int32 {
	return nil
}
