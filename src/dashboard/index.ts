export type { DashboardChange, DashboardState } from './api-types.js';
export { type DashboardHandler, dashboard } from './dashboard.js';
export type { DashboardOptions } from './dashboard-options.js';
export { toNodeListener } from './node-http.js';
