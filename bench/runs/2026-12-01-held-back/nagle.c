/* an answer in two pieces, 1 ms apart: the asker already waits for the second one when it is sent, and Nagle holds that until the delayed acknowledgement, 40 ms later */
#include <stdio.h>
#include <unistd.h>
#include <fcntl.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
int main(){ int l=socket(AF_INET,SOCK_STREAM,0); struct sockaddr_in a={AF_INET,0,{htonl(INADDR_LOOPBACK)}}; socklen_t n=sizeof a; bind(l,(void*)&a,n); listen(l,5); getsockname(l,(void*)&a,&n);
 if(!fork()){ int s=accept(l,0,0); char b[100]; for(int i=0;i<20;i++){ read(s,b,20); write(s,"answer",6); usleep(1000); write(s,"-rest-",6);} _exit(0); }
 int s=socket(AF_INET,SOCK_STREAM,0); connect(s,(void*)&a,sizeof a); char b[100]; for(int i=0;i<20;i++){ write(s,"01234567890123456789",20); int got=0; while(got<12) got+=read(s,b,12-got); int f=open("log",O_CREAT|O_APPEND|O_WRONLY,0600); write(f,b,12); close(f);} wait(0); return 0; }
