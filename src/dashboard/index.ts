export type {
  CandidateView,
  DashboardChange,
  DashboardState,
  ElectionView,
  GroupChange,
  GroupView,
  LeaderView,
  LockView,
  MoveView,
  NextView,
  ServerView,
  TermView,
  TransitionView,
} from './api.js';
export type { Visitor } from './dashboard.js';
export { type DashboardHandler, dashboard } from './dashboard.js';
export type { Authorize, DashboardOptions } from './dashboard-options.js';
export { type NodeListener, toNodeListener } from './node-http.js';
