/* three threads take turns by one condition and broadcasts; each does a file in its turn */
#include <pthread.h>
#include <stdio.h>
#include <fcntl.h>
#include <unistd.h>
static pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t c=PTHREAD_COND_INITIALIZER; static int turn;
static void*w(void*x){ long k=(long)x; char f[20],b[2000]={0}; for(int i=0;i<60;i++){ pthread_mutex_lock(&m); while(turn%3!=k) pthread_cond_wait(&c,&m); pthread_mutex_unlock(&m); sprintf(f,"o%ld.%d",k,i); int fd=open(f,O_WRONLY|O_CREAT,0600); write(fd,b,2000); close(fd); pthread_mutex_lock(&m); turn++; pthread_mutex_unlock(&m); pthread_cond_broadcast(&c); } return 0; }
int main(){ pthread_t t[3]; for(long k=0;k<3;k++) pthread_create(&t[k],0,w,(void*)k); for(int k=0;k<3;k++) pthread_join(t[k],0); }
