// Package quickstart follows docs/quickstart-kubernetes.md literally: every block of shell commands, in order, in one shell, as a reader would.
package quickstart
