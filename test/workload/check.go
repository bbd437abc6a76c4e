package workload

// Entry is one record of the final log.
type Entry struct{ Offset, Sequence int64 }

// Check compares with the records that the cluster holds, per partition in the order of offsets, and gives all broken
// promises, those that were noticed earlier first.
func (l *Ledger) Check(final [][]Entry) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.lanes {
		l.checkLane(int32(p), &l.lanes[p], final[p])
	}
	return l.broken
}

func (l *Ledger) checkLane(partition int32, p *lane, log []Entry) {
	if int64(len(log)) != p.sent {
		l.breaks("K2: partition %d holds %d records, %d were sent", partition, len(log), p.sent)
	}
	for i, e := range log {
		if e.Sequence != int64(i) {
			l.breaks("K2: the record at offset %d of partition %d is %d, want %d", e.Offset, partition, e.Sequence, i)
			break // the first difference makes all others
		}
	}
	at := map[int64]int64{}
	for _, e := range log {
		at[e.Sequence] = e.Offset
	}
	if int64(len(p.acked)) != p.sent {
		l.breaks("K1: %d records of partition %d were acknowledged, %d were sent", len(p.acked), partition, p.sent)
	}
	for sequence := range p.sent {
		offset, acked := p.acked[sequence]
		if now, there := at[sequence]; acked && (!there || now != offset) {
			l.breaks("K3: record %d of partition %d was acknowledged at offset %d; there: %v, at %d", sequence, partition, offset, there, now)
			break
		}
	}
	if len(p.seen) != len(log) {
		l.breaks("K4: the reader was shown %d records of partition %d, it holds %d", len(p.seen), partition, len(log))
	}
	for i := range min(len(p.seen), len(log)) {
		if p.seen[i] != log[i].Sequence {
			l.breaks("K4: the reader's record %d of partition %d was %d, the log has %d", i, partition, p.seen[i], log[i].Sequence)
			break
		}
	}
}
