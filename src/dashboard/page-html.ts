/// <reference path="./page/page-module.d.ts" />
import { csp, html } from 'conclave:page';

/** The dashboard's page: one document that loads nothing but what it gets from `api/`, below the path where it is itself. */
export const pageHtml: string = html;

/** The `Content-Security-Policy` with which the page works: only its own script and style, which the policy names by hash. */
export const pageCsp: string = csp;
