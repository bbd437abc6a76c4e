// Package raftlog keeps what one member of the metadata quorum must never forget: its term and vote, its log entries and
// its latest snapshot. It is the [raft.Storage] that broker/quorum runs on, and knows nothing of what the entries mean.
//
// # Who calls it
//
// One goroutine, the quorum's. No method may run beside another. Nothing here starts a goroutine.
//
// # Files of the folder
//
//	wal-<16 hex digits: number>.log                  records, appended; numbers rise by one and leave no gap
//	snapshot-<16 hex: index>-<16 hex: term>.snap     one whole snapshot, written aside and renamed
//	*.tmp                                            unfinished; removed by Open
//
// A wal file is a sequence of records; record.go draws one.
// The first record is the header: format, identity (cluster id, node id, directory id) and the
// hard state when the file began, which is why an older file may go as soon as its entries are in a snapshot.
// Then come entries, hard states, snapshot marks, and seals.
//
// # Order of effects, and what survives a crash
//
//  1. Save writes entries, then the hard state, in one write; then one fsync when the caller needs it; then a seal
//     without fsync. Save returns: the vote and the entries may be spoken of. Entries too many for one file go into several.
//  2. Every record says how many bytes before it had been synced when it was written; a seal says nothing else. So a bad record is a
//     torn tail (Open cuts it) when nothing behind it proves that its place had been synced. Otherwise it is corruption: Open
//     refuses with [ErrCorrupt], because a member that lost a vote may vote twice.
//  3. A new wal file, and a snapshot, appear by rename after their bytes were synced. A snapshot counts once the wal has
//     its mark; older files are removed after that, so a crash between leaves more than needed, never less.
//  4. A full disk, or a lack of file handles, changes nothing, and the update is tried again (vfs.Heals). The last wal file keeps a
//     little space set aside behind its end, so that the quorum goes on for a while on a disk that something else filled.
//  5. Any other failed write or sync takes the log offline for good: every later call returns [ErrOffline]. An fsync is never
//     tried again, since after a failed one nobody knows what is on the disk.
package raftlog
