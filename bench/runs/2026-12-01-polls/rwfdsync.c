#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>
#include <sys/uio.h>
int main(){ static char b[4096]; struct iovec v={b,4096}; int fd=open("log",O_RDWR|O_CREAT,0600); for(int i=0;i<100;i++) pwritev2(fd,&v,1,i*4096L,RWF_DSYNC); close(fd); }
