// Package workload writes and reads a topic while somebody else breaks or moves the cluster, and then says which promises
// were broken. test/crash uses it on processes of this machine, test/e2e on pods.
//
// Load is one idempotent producer with acks=all and one reader of every partition. Its promises:
//
//	K1  no produce fails, and each is answered once;
//	K2  the log of each partition is exactly the records that were sent, each once, in order;
//	K3  each record stands at the offset with which it was acknowledged;
//	K4  the reader was shown exactly that log, each offset once, without going back.
//
// Group is a consumer group on the same topic whose members commit what they were shown:
//
//	G1  no record is passed over: the first that the group is shown, is the next after those that it was shown;
//	G2  a member is shown a partition's records without gaps, from the first since it was assigned to it;
//	G3  nobody is shown a record again that is before a commit that was answered.
//
// A record may be shown to a group again after its partition moved before a commit; such are counted, not forbidden.
// The n-th record sent to a partition, from 0, has the value n, 8 bytes big-endian.
//
// The cluster is only asked through Kafka's protocol, with franz-go; StartLoad and StartGroup return with goroutines that
// end when Finish or Close has returned.
package workload
