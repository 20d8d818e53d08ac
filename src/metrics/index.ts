export {
  type Instrumentation,
  type Metrics,
  type MetricsSource,
  metrics,
} from './metrics.js';
