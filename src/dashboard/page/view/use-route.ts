import { useCallback, useLayoutEffect, useState } from 'preact/hooks';
import { hashOf, type Route, routeOf } from '../model/route.js';

/** The route in the page's address, and a function that changes it. */
export function useRoute(): [Route, (next: (former: Route) => Route) => void] {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  // Before the first frame: the address may change as soon as the page is seen.
  useLayoutEffect(() => {
    // Links to panels contain no search. They keep the current one.
    const onChange = () =>
      setRoute((former) => {
        const { open, query } = routeOf(location.hash);
        const route = { open, query: query === '' ? former.query : query };
        history.replaceState(null, '', hashOf(route));
        return route;
      });
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  const go = useCallback((next: (former: Route) => Route) => {
    const changed = next(routeOf(location.hash));
    // Replaces the entry in the browser's history. Otherwise each typed letter would add one.
    history.replaceState(null, '', hashOf(changed));
    setRoute(changed);
  }, []);
  return [route, go];
}
