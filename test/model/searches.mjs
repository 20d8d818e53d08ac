/** The models, each with its questions. */
import { PROOF } from './proof.mjs';
import { RECIPE } from './recipe.mjs';
import { SHARDS } from './shards.mjs';
import { STALL } from './stall.mjs';

export const MODELS = [RECIPE, PROOF, STALL, SHARDS];
