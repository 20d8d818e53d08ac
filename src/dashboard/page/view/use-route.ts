import { useCallback, useEffect, useState } from 'preact/hooks';
import { hashOf, type Route, routeOf } from '../model/route.js';

/** The route of the page's address, and what changes it. */
export function useRoute(): [Route, (next: (former: Route) => Route) => void] {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    // The links to panels leave the search as it is.
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
    // Not an entry in the history for each letter that is typed.
    history.replaceState(null, '', hashOf(changed));
    setRoute(changed);
  }, []);
  return [route, go];
}
