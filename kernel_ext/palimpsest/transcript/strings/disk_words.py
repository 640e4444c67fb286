"""Describe a disk error as the beginning of a sentence that names the file."""

import errno

SENTENCE_BEGINNINGS = {
    errno.ENOSPC: "The disk is full",
    errno.EDQUOT: "The disk quota is used up",
    errno.EROFS: "The disk is read-only",
    errno.EACCES: "The folder may not be written",
    errno.ENOENT: "The folder is gone",
    errno.ESTALE: "The network disk is gone",
    errno.EPERM: "The folder may not be written",
    errno.EIO: "The disk is failing",
    errno.ENAMETOOLONG: "The name is too long",
    errno.EMFILE: "Too many files are open in this kernel",
    errno.ENFILE: "Too many files are open on this machine",
    errno.EFBIG: "The file is larger than the disk or a limit allows",
}


def disk_reason(error: OSError) -> str:
    """Return the reason of an error, as the beginning of a sentence."""
    return SENTENCE_BEGINNINGS.get(
        error.errno or 0, f"The disk refused ({error.strerror or error})"
    )
