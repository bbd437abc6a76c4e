// Package archive writes container images as the tar files that `docker save` makes and that Docker, Podman and
// containerd load: one layer of given files on nothing. Equal input gives equal bytes, so an image's identity says
// whether anything changed.
package archive
