//! `countersink drain` of several tables, and of none.

use countersink_sandbox::Flavour;

use crate::changeover::stage::Stage;
use crate::support::binary::{countersink, rules_file};
use crate::support::block_on;
use crate::support::client::run;
use crate::support::proxy::rules_head;

#[test]
fn what_is_done_is_told_though_the_next_table_fails() {
    block_on(async {
        let mut stage = Stage::new(Flavour::MySql, "cs_over_next").await;
        let rule = stage.rule("columns: [views]");
        let more = "- {table: cs_over_next.Posts, columns: [views]}\n\
                    - {table: cs_over_next.gone, columns: [views]}\n";
        run(&mut stage.direct, "CREATE TABLE Posts LIKE posts").await;
        let (_folder, file) = rules_file(&(rules_head(&stage.upstream) + &rule + more));
        let (code, output, errors) = countersink(&["drain"], &file);
        assert_eq!(code, 1, "{errors}");
        assert_eq!(
            output,
            "cs_over_next.posts: there was no cs_over_next.posts_slots\n\
             cs_over_next.Posts: there was no cs_over_next.Posts_slots\n"
        );
        assert!(errors.contains("drain of cs_over_next.gone: "), "{errors}");

        // The one that is named, and no other; then one that is not there, or may be either.
        let (code, output, errors) = countersink(&["drain", "cs_over_next.Posts"], &file);
        assert_eq!(code, 0, "{errors}");
        assert_eq!(
            output,
            "cs_over_next.Posts: there was no cs_over_next.Posts_slots\n"
        );
        for (named, hint) in [
            ("cs_over_next.gon", "did you mean `cs_over_next.gone`?"),
            ("cs_over_next.POSTS", "write it as the rules file does"),
        ] {
            let (code, output, errors) = countersink(&["drain", named], &file);
            assert_eq!((code, &*output), (2, ""), "{errors}");
            assert!(errors.contains(hint), "{errors}");
        }
    });
}
