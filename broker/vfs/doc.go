// Package vfs is the seam between the broker and the file system: the operating system's files ([OS]), and files in
// memory ([Mem]) that crash, tear writes, run full and fail as a seed says.
//
// It is not a log and knows no format. It starts no goroutine and reads no clock; errors of the system come back
// wrapped, so errors.Is finds fs.ErrNotExist, syscall.ENOSPC and the like.
//
// # What survives a crash
//
// The rules that callers may rely on are those of POSIX, not the kinder ones of any one file system:
//
//   - The bytes of a file are durable after File.Sync. Before that any part of them may be lost, also the middle of a
//     write, and the file may have its new size with zeros where the bytes were to be.
//   - A name (created, renamed or removed) is durable after FS.SyncDir of its folder, not after File.Sync.
//   - A rename is atomic: after a crash the new name is the old file or the new one, never half of it.
//   - Changes of names in one folder reach the disk in order; those in two folders do not.
//
// Mem breaks everything that these rules allow to be broken, and nothing else.
//
// # Errors
//
// An error of File.Sync means that the kernel may have dropped the pages: never call it again and hope. A full disk
// (IsFull) and too few handles (IsHandleLimit) heal; the caller refuses and goes on.
package vfs
