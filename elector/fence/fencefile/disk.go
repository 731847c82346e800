package fencefile

import (
	"io"
	"io/fs"
	"os"
)

// disk is what File needs of a file system.
type disk interface {
	open(path string, flag int, mode fs.FileMode) (handle, error)
	stat(path string) (fs.FileInfo, error)
	rename(from, to string) error
	same(a, b fs.FileInfo) bool // they are of one file
}

// handle is an open file or folder.
type handle interface {
	io.Reader
	io.ReaderAt
	io.WriterAt
	io.Closer // which gives the lock back
	Stat() (fs.FileInfo, error)
	Chmod(mode fs.FileMode) error
	Truncate(size int64) error
	Sync() error
	lock() (locked bool, err error) // unless somebody else has the lock
}

// on is the disk that the file is on.
func (f File) on() disk {
	if f.disk == nil {
		return machine{}
	}
	return f.disk
}

// machine is the machine's own disk.
type machine struct{}

func (machine) open(path string, flag int, mode fs.FileMode) (handle, error) {
	file, err := os.OpenFile(path, flag, mode)
	if err != nil {
		return nil, err
	}
	return opened{file}, nil
}

func (machine) stat(path string) (fs.FileInfo, error) { return os.Stat(path) }
func (machine) rename(from, to string) error          { return os.Rename(from, to) }
func (machine) same(a, b fs.FileInfo) bool            { return os.SameFile(a, b) }

// opened is a file of the machine.
type opened struct{ *os.File }

func (o opened) lock() (locked bool, err error) { return flock(o.File) }
