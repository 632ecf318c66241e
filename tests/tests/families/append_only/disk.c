/* A disk for tests, loaded into a program before the C library. What is not synced is lost with the power: the folder
 * that DISK names has what a power failure would leave.
 *
 *   DISK/inode-N   the bytes of the file with inode N when it was synced last
 *   DISK/names-N   the names and inodes of the files of the directory with inode N when it was synced last
 *   DISK/held-N    a link to the file, so that no other file gets its inode
 *   DISK/syncs     a byte for each sync of a file that requests are appended to
 *   DISK/full      while this file exists, no byte is written to such a file
 *   DISK/wait      while this file exists, a base waits for its name
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH 4096

static void in_disk(char *path, const char *kind, unsigned long number) {
    snprintf(path, PATH, "%s/%s-%lu", getenv("DISK"), kind, number);
}

static int is_there(const char *name) {
    char path[PATH];
    snprintf(path, PATH, "%s/%s", getenv("DISK"), name);
    return access(path, F_OK) == 0;
}

static void put(int fd, const char *bytes, long len) {
    while (len > 0) {
        long done = syscall(SYS_write, fd, bytes, len);
        if (done < 0) abort();
        bytes += done;
        len -= done;
    }
}

/* Opens a file that becomes DISK/KIND-NUMBER when it is complete. */
static int begin(char *temporary, unsigned long number) {
    static atomic_ulong count;
    snprintf(temporary, PATH, "%s/tmp-%lu-%lu", getenv("DISK"), number, atomic_fetch_add(&count, 1));
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0) abort();
    return fd;
}

static void complete(int fd, const char *temporary, const char *kind, unsigned long number) {
    char path[PATH];
    in_disk(path, kind, number);
    close(fd);
    if (syscall(SYS_rename, temporary, path) != 0) abort();
}

static void hold(const char *path, unsigned long inode) {
    char held[PATH];
    in_disk(held, "held", inode);
    link(path, held);
}

static void keep_file(const char *path, unsigned long inode) {
    char temporary[PATH], bytes[65536];
    int from = open(path, O_RDONLY), to = begin(temporary, inode);
    long len, at = 0;
    if (from < 0) abort();
    while ((len = pread(from, bytes, sizeof bytes, at)) > 0) {
        put(to, bytes, len);
        at += len;
    }
    close(from);
    complete(to, temporary, "inode", inode);
}

static void keep_names(const char *path, unsigned long inode) {
    char temporary[PATH], entry[PATH + 256], line[PATH];
    int to = begin(temporary, inode);
    DIR *directory = opendir(path);
    struct dirent *found;
    struct stat data;
    if (!directory) abort();
    while ((found = readdir(directory))) {
        snprintf(entry, sizeof entry, "%s/%s", path, found->d_name);
        if (stat(entry, &data) != 0 || !S_ISREG(data.st_mode)) continue;
        hold(entry, data.st_ino);
        put(to, line, snprintf(line, PATH, "%lu %s\n", (unsigned long)data.st_ino, found->d_name));
    }
    closedir(directory);
    complete(to, temporary, "names", inode);
}

static int is_appended(const char *path) {
    return strstr(path, ".incr") != NULL;
}

static int find(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long len = readlink(link, path, PATH - 1);
    path[len > 0 ? len : 0] = 0;
    return len > 0;
}

static int keep(int fd) {
    char path[PATH];
    struct stat data;
    if (!find(fd, path) || fstat(fd, &data) != 0) return 0;
    if (S_ISDIR(data.st_mode)) keep_names(path, data.st_ino);
    if (!S_ISREG(data.st_mode)) return 0;
    hold(path, data.st_ino);
    keep_file(path, data.st_ino);
    if (is_appended(path)) {
        char syncs[PATH];
        snprintf(syncs, PATH, "%s/syncs", getenv("DISK"));
        int to = open(syncs, O_WRONLY | O_CREAT | O_APPEND, 0600);
        put(to, ".", 1);
        close(to);
    }
    return 0;
}

int fsync(int fd) {
    return keep(fd);
}

int fdatasync(int fd) {
    return keep(fd);
}

ssize_t write(int fd, const void *bytes, size_t len) {
    char path[PATH];
    if (is_there("full") && find(fd, path) && is_appended(path)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, bytes, len);
}

int rename(const char *from, const char *to) {
    while (strstr(from, "temp-rewriteaof") && is_there("wait")) usleep(1000);
    return syscall(SYS_rename, from, to);
}
