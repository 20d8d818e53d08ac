module.exports = {
  apps: [
    {
      name: 'scheduler',
      script: './service.mjs',
      exec_mode: 'fork',
      instances: 2,
      increment_var: 'PORT', // 8080, 8081, …: each instance has probes of its own.
      kill_timeout: 25_000, // Longer than deadlineMs (20 s). PM2's default is 1600.
      wait_ready: true, // `process.send('ready')`, once it has a place in the queue.
      listen_timeout: 15_000, // How long PM2 waits for that.
      env: { PORT: 8080, ZOOKEEPER: 'zk1:2181,zk2:2181,zk3:2181' },
    },
  ],
};
