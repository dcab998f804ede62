#include <fcntl.h>
#include <unistd.h>
int main(){ char b[1000]={0}; int fd=open("log",O_RDWR|O_CREAT,0600); for(int i=0;i<200;i++){ lseek(fd,0,SEEK_END); write(fd,b,1000);} close(fd); }
