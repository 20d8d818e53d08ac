/** The models, each with its questions. */
import { RECIPE } from './recipe.mjs';
import { SHARDS } from './shards.mjs';
import { TAKEOVER } from './takeover.mjs';

export const MODELS = [RECIPE, TAKEOVER, SHARDS];
