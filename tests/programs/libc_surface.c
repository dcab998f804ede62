/* libc_surface: functions of libc that open, read and ask about files on the program's behalf, many of them in libc's own
 * code past every symbol. What they find depends on the machine; what is compared is who saw them look.
 *
 * Left out is what cannot be seen (the hooks of the families tell): nftw, scandirat, pathconf, updwtmpx.
 */
#include "common.h"
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <libintl.h>
#include <locale.h>
#include <mntent.h>
#include <netdb.h>
#include <nl_types.h>
#include <pty.h>
#include <pwd.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <syslog.h>
#include <time.h>
#include <utmpx.h>

static void new_file(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    CHECK(fd >= 0);
    CHECK_OK(close(fd));
}

/* Folders: read to the end, sorted, by pattern, and as trees that are walked with and without chdir. */
static void folders(void)
{
    char *roots[] = {"tree", NULL};
    glob_t found;
    struct dirent **entries;
    CHECK_OK(mkdir("tree", 0755));
    CHECK_OK(mkdir("tree/below", 0755));
    new_file("tree/file");
    new_file("tree/below/file");
    DIR *folder = opendir("tree");
    CHECK(folder != NULL);
    while (readdir(folder))
        ;
    rewinddir(folder);
    CHECK(readdir(folder) != NULL);
    CHECK_OK(closedir(folder));
    int count = scandir("tree", &entries, NULL, alphasort);
    CHECK_EQ(count, 4);
    while (count-- > 0)
        free(entries[count]);
    free(entries);
    CHECK_OK(glob("tree/*/*", 0, NULL, &found));
    CHECK_EQ(found.gl_pathc, 1);
    globfree(&found);
    for (int options = FTS_PHYSICAL; options; options = options & FTS_NOCHDIR ? 0 : options | FTS_NOCHDIR) {
        FTS *walk = fts_open(roots, options, NULL);
        CHECK(walk != NULL);
        while (fts_read(walk))
            ;
        CHECK_OK(fts_close(walk));
    }
    free(realpath("tree/below/file", NULL));
    CHECK_OK(remove("tree/below/file"));
    CHECK_OK(remove("tree/below"));
    CHECK_OK(remove("tree/file"));
    CHECK_OK(remove("tree"));
}

static void temporary_files(void)
{
    char file[] = "fileXXXXXX", folder[] = "folderXXXXXX";
    FILE *stream = tmpfile();
    CHECK(stream != NULL);
    CHECK(fputs("text", stream) >= 0);
    CHECK_OK(fclose(stream));
    int fd = mkstemp(file);
    CHECK(fd >= 0);
    CHECK_EQ(posix_fallocate(fd, 0, 100), 0);
    CHECK_OK(close(fd));
    stream = fopen(file, "rm"); /* mapped */
    CHECK(stream != NULL);
    CHECK_EQ(fgetc(stream), 0);
    stream = freopen(file, "r,ccs=UTF-8", stream);
    CHECK(stream != NULL);
    CHECK_OK(fclose(stream));
    CHECK_OK(unlink(file));
    CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(rmdir(folder));
}

/* Users, groups, services: /etc, and whoever else is asked according to it. */
static void databases(void)
{
    gid_t groups[16];
    int count = 16;
    (void)getpwnam("root");
    setpwent();
    (void)getpwent();
    endpwent();
    (void)getgrnam("root");
    (void)getgrouplist("root", 0, groups, &count);
    (void)getservbyname("http", "tcp");
    (void)getprotobyname("tcp");
    setusershell();
    (void)getusershell();
    endusershell();
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    CHECK(mounts != NULL);
    CHECK(getmntent(mounts) != NULL);
    CHECK_EQ(endmntent(mounts), 1);
}

/* Languages, character sets, times. */
static void places(void)
{
    time_t beginning = 0;
    (void)setlocale(LC_ALL, "C.UTF-8");
    (void)setlocale(LC_ALL, "xx_YY.UTF-8");
    iconv_t conversion = iconv_open("UTF-16", "UTF-8");
    CHECK(conversion != (iconv_t)-1);
    CHECK_OK(iconv_close(conversion));
    CHECK(bindtextdomain("libc_surface", ".") != NULL);
    CHECK(textdomain("libc_surface") != NULL);
    CHECK_OK(setenv("LANGUAGE", "de", 1));
    (void)gettext("text");
    CHECK(catopen("libc_surface", 0) == (nl_catd)-1);
    CHECK_OK(setenv("TZ", "Europe/Berlin", 1));
    tzset();
    CHECK(localtime(&beginning) != NULL);
}

static void machine(void)
{
    int terminal, slave;
    char name[128];
    struct statvfs about;
    double loads[3];
    CHECK(get_nprocs() > 0 && get_nprocs_conf() > 0);
    (void)getloadavg(loads, 3);
    CHECK_OK(statvfs(".", &about));
    setutxent();
    (void)getutxent();
    endutxent();
    openlog("libc_surface", LOG_NDELAY, LOG_USER);
    closelog();
    (void)gethostid();
    CHECK_OK(openpty(&terminal, &slave, name, NULL, NULL));
    CHECK(ttyname(slave) != NULL);
    CHECK_OK(close(terminal));
    CHECK_OK(close(slave));
    snprintf(name, sizeof name, "/libc_surface.%d", (int)getpid());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_OK(close(fd));
    CHECK_OK(shm_unlink(name));
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
    CHECK(semaphore != SEM_FAILED);
    CHECK_OK(sem_close(semaphore));
    CHECK_OK(sem_unlink(name));
}

int main(void)
{
    folders();
    temporary_files();
    databases();
    places();
    machine();
    puts("libc_surface: passed");
    return 0;
}
