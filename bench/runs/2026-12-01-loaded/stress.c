#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <signal.h>
#include <sys/wait.h>
#include <sys/mman.h>
static char *dir; static volatile int stop;
static void handler(int s){ (void)s; }
static void *work(void *a){ long n=(long)a; char b[999]; unsigned r=n*77+1;
 for(int i=0;i<300;i++){ snprintf(b,999,"%s/lib%d.so",dir,rand_r(&r)%8); void*h=dlopen(b,(i%2)?RTLD_NOW:RTLD_LAZY); if(!h){puts(dlerror());exit(3);} int(*f)(int)=dlsym(h,"h"); f(40000); if(i%17==0) mprotect((void*)((long)f&~4095L),4096,PROT_READ|PROT_EXEC); if(i%3) dlclose(h); }
 return 0;}
static void *forks(void *a){ (void)a; for(int i=0;i<100;i++){ pid_t p=fork(); if(!p){ if(i%2) _exit(0); execl("/bin/true","true",(char*)0); _exit(1);} int st; waitpid(p,&st,0); if(st){printf("child %x\n",st);exit(4);} } return 0;}
int main(int c,char**v){ dir=v[1]; struct sigaction sa={.sa_handler=handler}; sigaction(SIGALRM,&sa,0); struct itimerval {struct timeval a,b;} ; ualarm(500,500); pthread_t t[6]; for(long i=0;i<4;i++)pthread_create(&t[i],0,work,(void*)i); for(int i=4;i<6;i++)pthread_create(&t[i],0,forks,0); for(int i=0;i<6;i++)pthread_join(t[i],0); ualarm(0,0); 
 pid_t p=fork(); if(!p){ work((void*)9); exit(0);} int st; waitpid(p,&st,0); printf("ok %d\n",st); return 0;}
