#define _GNU_SOURCE
#include <sys/mman.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>
static double now(){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec*1e6+t.tv_nsec/1e3;}
int main(int c,char**v){
  int mode=atoi(v[1]); const char*f=v[2]; size_t n=1110655, L=2<<20;
  int fd=open(f,O_RDONLY);
  double t=now(); char*p; unsigned s=0;
  if(mode==0){p=mmap(0,n,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);madvise(p,n,MADV_POPULATE_WRITE);double u=now();read(fd,p,n);printf("populate %.0f read %.0f\n",u-t,now()-u);}
  if(mode==1){p=mmap(0,n,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);read(fd,p,n);printf("plain read %.0f\n",now()-t);}
  if(mode==2){p=mmap(0,2*L,3,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);p=(char*)(((size_t)p+L-1)&~(L-1));madvise(p,L,MADV_HUGEPAGE);p[0]=1;double u=now();read(fd,p,n);printf("huge %.0f read %.0f\n",u-t,now()-u);}
  if(mode==3){p=mmap(0,n,1,MAP_PRIVATE|MAP_POPULATE,fd,0);double u=now();for(size_t i=0;i<n;i+=64)s+=p[i];printf("mmap populate %.0f touch %.0f\n",u-t,now()-u);}
  if(mode==4){p=mmap(0,n,1,MAP_PRIVATE,fd,0);for(size_t i=0;i<n;i+=64)s+=p[i];printf("mmap touch %.0f\n",now()-t);}
  if(mode==5){static char b[65536];for(;;){ssize_t k=read(fd,b,sizeof b);if(k<=0)break;for(int i=0;i<k;i+=64)s+=b[i];}printf("chunks %.0f\n",now()-t);}
  if(mode==6){p=mmap(0,n,3,MAP_PRIVATE,fd,0);madvise(p,n,MADV_POPULATE_WRITE);printf("cow map populate %.0f\n",now()-t);}
  return s==12345;
}
